#include "offline/anonymous/experiment_copy.hpp"

#include <algorithm>
#include <fstream>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "format/event_file.hpp"
#include "format/profile_file.hpp"
#include "offline/experiment/folder.hpp"
#include "offline/experiment/renamed_profile.hpp"
#include "offline/experiment/whole_file.hpp"
#include "offline/symbols/named_module.hpp"
#include "offline/symbols/names_file.hpp"

namespace refrain::anonymous {
namespace {

namespace fs = std::filesystem;
using experiment::Experiment;

/// Whether the value is a number, perhaps with a unit, or a word that options take.
bool is_public_value(const std::string& value) {
  constexpr std::string_view words[] = {"",   "all",  "sampled", "none", "on",  "off", "yes",
                                        "no", "true", "false",   "wall", "cpu", "auto"};
  if (std::ranges::find(words, value) != std::end(words)) return true;
  return value[0] >= '0' && value[0] <= '9' && value.find_first_not_of("0123456789.,kKMGTiBmusn%") == value.npos;
}

std::string manifest_of(const Experiment& experiment, const Pseudonyms& pseudonyms) {
  const experiment::Manifest& manifest = experiment.manifest();
  rapidjson::StringBuffer text;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json(text);
  const auto put = [&](const char* name, const std::string& value) {
    json.Key(name);
    json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  json.StartObject();
  json.Key("format");
  json.Int(format::major_version);
  put("refrain", manifest.version);
  put("state", manifest.state.empty() ? "incomplete" : manifest.state);
  json.Key("ranks");
  json.Int(manifest.ranks);
  json.Key("command");
  json.StartArray();
  for (std::size_t i = 0; i < manifest.command.size(); ++i) {
    const std::string word = pseudonyms.word(i == 0 ? "program" : "argument", manifest.command[i]);
    json.String(word.data(), static_cast<rapidjson::SizeType>(word.size()));
  }
  json.EndArray();
  put("executable", pseudonyms.module(manifest.executable));
  put("working_directory", pseudonyms.word("directory", manifest.working_directory));
  put("started", manifest.started);
  put("ended", manifest.ended);
  put("host", pseudonyms.of(experiment::NameKind::Host, manifest.host));
  // After the first comma, the text says whose build it is.
  put("mpi_library", manifest.mpi_library.substr(0, manifest.mpi_library.find(',')));
  json.Key("configuration");
  json.StartObject();
  for (const auto& [name, value] : manifest.configuration)
    put(name.c_str(), is_public_value(value) ? value : pseudonyms.word("value", value));
  json.EndObject();
  json.EndObject();
  return text.GetString();
}

std::vector<symbols::ModuleNames> names_of(const Experiment& experiment, symbols::Symbolizer& symbolizer,
                                           const Pseudonyms& pseudonyms) {
  std::vector<symbols::ModuleNames> all;
  std::set<std::pair<std::string, std::string>> taken;
  for (const experiment::ProfileModule& module : experiment.definitions().modules) {
    if (!symbols::has_file(module.path) || !taken.emplace(module.path, module.build_id).second) continue;
    const symbols::ModuleNames& known = symbolizer.module(module.path, module.build_id).names();
    if (known.frames.empty()) continue;
    symbols::ModuleNames& names = all.emplace_back();
    names.path = pseudonyms.module(module.path);
    names.build_id = pseudonyms.build_id(module.build_id);
    names.source = known.source;
    if (!known.why.empty()) names.why = "its file was not there";
    for (const auto& [place, frames] : known.frames) {
      auto& of_place = names.frames[place];
      for (const symbols::SourceFrame& frame : frames) of_place.push_back(pseudonyms.frame(frame, module.path));
    }
  }
  return all;
}

/// Takes over a file that has only numbers: as a link if possible, because event files are large.
void take_over(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_symlink(fs::absolute(from), to, error);
  if (!error && fs::exists(to, error)) return;
  fs::remove(to, error);
  std::ofstream out;
  out.exceptions(std::ios::failbit | std::ios::badbit);
  out.open(to, std::ios::binary);
  const experiment::InputFile file(from);
  file.for_each_piece([&](std::span<const std::byte> bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  });
}

}  // namespace

void copy_experiment(const Experiment& experiment, symbols::Symbolizer& symbolizer, const Pseudonyms& pseudonyms,
                     const fs::path& to) {
  const fs::path& from = experiment.directory();
  fs::create_directory(to);
  const experiment::Rename rename = [&](experiment::NameKind kind, std::string_view name) {
    return pseudonyms.of(kind, name);
  };
  std::error_code error;
  for (const std::string& name : experiment::files_in(from, error)) {
    const bool is_refrain = name.ends_with(".refrain");
    if (name == format::profile_name || (name.starts_with("part-") && is_refrain))
      write_renamed(from / name, rename, to / name);
    else if (is_refrain && (name.starts_with(format::spill_name_begin) || name.starts_with(format::events_name_begin)))
      take_over(from / name, to / name);
  }
  if (error) throw std::system_error(error, from.string());
  const std::string manifest = manifest_of(experiment, pseudonyms);
  experiment::write_whole_file(to / format::manifest_name, std::as_bytes(std::span(manifest)));
  symbols::write_names(to, names_of(experiment, symbolizer, pseudonyms));
}

}  // namespace refrain::anonymous
