#include "archive/manifest_reader.hpp"

#include <nlohmann/json.hpp>

#include "archive/clean_text.hpp"
#include "archive/format.hpp"

namespace refrain::archive {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t largest_manifest = 64 << 20;

class MemberReader {
 public:
  MemberReader(const InputFile& file, const Json& object) : file_(file), object_(object) {}

  void text(const char* name, std::string& out) const {
    if (const Json* member = find(name, Json::value_t::string)) out = clean_text(member->get_ref<const std::string&>());
  }
  void integer(const char* name, int& out) const {
    const auto at = object_.find(name);
    if (at == object_.end()) return;
    if (!at->is_number_integer() || at->get<std::int64_t>() < 0 || at->get<std::int64_t>() > 0x7fffffff) refuse(name);
    out = at->get<int>();
  }
  void texts(const char* name, std::vector<std::string>& out) const {
    const Json* member = find(name, Json::value_t::array);
    if (!member) return;
    for (const Json& item : *member) {
      if (!item.is_string()) refuse(name);
      out.push_back(clean_text(item.get_ref<const std::string&>()));
    }
  }
  void pairs(const char* name, std::vector<std::pair<std::string, std::string>>& out) const {
    const Json* member = find(name, Json::value_t::object);
    if (!member) return;
    for (const auto& [key, value] : member->items()) {
      if (!value.is_string()) refuse(name);
      out.emplace_back(clean_text(key), clean_text(value.get_ref<const std::string&>()));
    }
  }

 private:
  const Json* find(const char* name, Json::value_t type) const {
    const auto at = object_.find(name);
    if (at == object_.end()) return nullptr;
    if (at->type() != type) refuse(name);
    return &*at;
  }
  [[noreturn]] void refuse(const char* name) const {
    file_.fail(0, std::string("member '") + name + "' is not what it should be");
  }

  const InputFile& file_;
  const Json& object_;
};

}  // namespace

Manifest parse_manifest(const InputFile& file) {
  if (file.size() == 0) file.fail(0, "the file is empty");
  if (file.size() > largest_manifest) file.fail(0, "too large for a manifest");
  const auto bytes = file.read(0, file.size(), "manifest");
  Json json;
  try {
    const char* text = reinterpret_cast<const char*>(bytes.data());
    json = Json::parse(text, text + bytes.size());
  } catch (const Json::parse_error& error) {
    file.fail(error.byte > 0 ? error.byte - 1 : 0, "not JSON");
  } catch (const Json::exception&) {
    file.fail(0, "not JSON");
  }
  if (!json.is_object()) file.fail(0, "not a JSON object");

  const MemberReader members(file, json);
  int format_version = format::major_version;
  members.integer("format", format_version);
  if (format_version > format::major_version)
    file.fail(0, "written by a newer Refrain (format " + std::to_string(format_version) + "; this one reads " +
                     std::to_string(format::major_version) + ")");
  Manifest manifest;
  members.text("refrain", manifest.version);
  members.texts("command", manifest.command);
  members.text("executable", manifest.executable);
  members.text("working_directory", manifest.working_directory);
  members.text("state", manifest.state);
  members.integer("ranks", manifest.ranks);
  members.text("started", manifest.started);
  members.text("ended", manifest.ended);
  members.text("host", manifest.host);
  members.text("mpi_library", manifest.mpi_library);
  members.pairs("configuration", manifest.configuration);
  if (manifest.state != "running" && manifest.state != "complete" && manifest.state != "incomplete")
    file.fail(0, "unknown state");
  return manifest;
}

}  // namespace refrain::archive
