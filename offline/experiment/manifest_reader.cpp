#include "offline/experiment/manifest_reader.hpp"

#include <chrono>
#include <cstdio>

#include "format/profile_file.hpp"
#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/json_file.hpp"

namespace refrain::experiment {

namespace {

constexpr std::uint64_t largest_manifest = 64 << 20;

std::string text_of(const rapidjson::Value& value) { return clean_text({value.GetString(), value.GetStringLength()}); }

class MemberReader {
 public:
  MemberReader(const InputFile& file, const rapidjson::Value& object) : file_(file), object_(object) {}

  void text(const char* name, std::string& out) const {
    const rapidjson::Value* member = find(name);
    if (!member) return;
    if (!member->IsString()) refuse(name);
    out = text_of(*member);
  }
  void integer(const char* name, int& out) const {
    const rapidjson::Value* member = find(name);
    if (!member) return;
    if (!member->IsInt() || member->GetInt() < 0) refuse(name);
    out = member->GetInt();
  }
  void texts(const char* name, std::vector<std::string>& out) const {
    const rapidjson::Value* member = find(name);
    if (!member) return;
    if (!member->IsArray()) refuse(name);
    for (const rapidjson::Value& item : member->GetArray()) {
      if (!item.IsString()) refuse(name);
      out.push_back(text_of(item));
    }
  }
  void pairs(const char* name, std::vector<std::pair<std::string, std::string>>& out) const {
    const rapidjson::Value* member = find(name);
    if (!member) return;
    if (!member->IsObject()) refuse(name);
    for (const auto& [key, value] : member->GetObject()) {
      if (!value.IsString()) refuse(name);
      out.emplace_back(text_of(key), text_of(value));
    }
  }

 private:
  /// Null: there is no such member.
  const rapidjson::Value* find(const char* name) const {
    const auto at = object_.FindMember(name);
    return at == object_.MemberEnd() ? nullptr : &at->value;
  }
  [[noreturn]] void refuse(const char* name) const { refuse_member(file_, name); }

  const InputFile& file_;
  const rapidjson::Value& object_;
};

}  // namespace

std::optional<std::int64_t> Manifest::started_s() const {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (std::sscanf(started.c_str(), "%d-%d-%dT%d:%d:%d", &year, &month, &day, &hour, &minute, &second) != 6)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + hour) * 60 + minute) * 60 + second;
}

Manifest parse_manifest(const InputFile& file) {
  const rapidjson::Document json = parse_json_object(file, largest_manifest, "manifest");
  const MemberReader members(file, json);
  int format_version = format::major_version;
  members.integer("format", format_version);
  if (format_version > format::major_version)
    throw NewerFormatError(file.place(0, "written by a newer Refrain (format " + std::to_string(format_version) +
                                             "; this one reads " + std::to_string(format::major_version) + ")"));
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
  if (manifest.ranks > static_cast<std::int32_t>(format::max_ranks)) file.fail(0, "impossible number of ranks");
  if (manifest.state != "running" && manifest.state != "complete" && manifest.state != "incomplete")
    file.fail(0, "unknown state");
  return manifest;
}

}  // namespace refrain::experiment
