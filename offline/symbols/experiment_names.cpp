#include "offline/symbols/experiment_names.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "format/names_file.hpp"
#include "format/profile_file.hpp"
#include "offline/experiment/folder.hpp"
#include "offline/symbols/function_table.hpp"
#include "offline/symbols/layers.hpp"
#include "offline/symbols/names.hpp"

namespace refrain::symbols {
namespace {

namespace fs = std::filesystem;
using experiment::Experiment;
using experiment::ProfileModule;

/// Identifies a module: modules with different paths and the same build-id are one.
using ModuleKey = std::pair<bool, std::string>;
template <class Module>
ModuleKey key_of(const Module& module) {
  return {!module.build_id.empty(), module.build_id.empty() ? module.path : module.build_id};
}

/// The addresses that occur in call paths, by module.
std::map<std::int32_t, std::vector<Place>> places_of(const experiment::ProfileDefinitions& definitions) {
  std::map<std::int32_t, std::set<Place>> found;
  for (const experiment::CallPath& path : definitions.paths) {
    if (!format::is_address(path.kind) || path.module < 0 ||
        static_cast<std::size_t>(path.module) >= definitions.modules.size())
      continue;
    const std::string& file = definitions.modules[path.module].path;
    const bool is_frame = path.kind == format::NodeKind::Frame;
    if (!has_file(file) || (is_frame && is_layer(base_name(file)))) continue;
    found[path.module].insert({path.offset, is_frame ? Lookup::ReturnAddress : Lookup::Entry});
  }
  std::map<std::int32_t, std::vector<Place>> places;
  for (const auto& [module, of] : found) places[module] = {of.begin(), of.end()};
  return places;
}

/// The names that the experiment keeps; nullopt: their file cannot be read.
std::optional<std::vector<ModuleNames>> read_names(const Experiment& experiment) {
  std::vector<ModuleNames> names;
  const fs::path path = experiment.directory() / names_file_name;
  if (experiment.directory().empty() || !experiment::has_file(experiment.directory(), names_file_name)) return names;
  const bool is_good = experiment.damage_log()->survives(
      "functions are looked up in the binaries of this machine, and are kept when the file is deleted",
      [&] { names = parse_names(experiment::InputFile(path, experiment.damage_log())); });
  return is_good ? std::optional(std::move(names)) : std::nullopt;
}

/// The tables of functions that `refrain exec` has kept; a table that cannot be read is damage.
class KeptTables {
 public:
  explicit KeptTables(const Experiment& experiment) {
    files_ = experiment::files_like(experiment.directory(), format::functions_name_begin, format::functions_name_end);
    for (const fs::path& file : files_)
      experiment.damage_log()->survives("functions that only it names are shown as addresses", [&] {
        try {
          take(experiment::InputFile(file, experiment.damage_log()));
        } catch (const experiment::ReadError&) {
          // Not damage if another tool has kept the names and removed the table.
          if (experiment::has_file(experiment.directory(), file.filename())) throw;
        }
      });
  }

  std::shared_ptr<const FunctionTable> find(const ModuleKey& module) const {
    const auto at = by_module_.find(module);
    return at == by_module_.end() ? nullptr : at->second;
  }
  /// The tables are not needed any more once the names that occur are kept.
  void remove() const {
    std::error_code ignored;
    for (const fs::path& file : files_) fs::remove(file, ignored);
  }

 private:
  void take(const experiment::InputFile& file) {
    for (FunctionTable& of : parse_function_tables(file)) {
      const ModuleKey key = key_of(of);
      by_module_.try_emplace(key, std::make_shared<const FunctionTable>(std::move(of)));
    }
  }

  std::vector<fs::path> files_;
  std::map<ModuleKey, std::shared_ptr<const FunctionTable>> by_module_;
};

using NamesByModule = std::map<ModuleKey, ModuleNames>;
NamesByModule by_module(const std::vector<ModuleNames>& all) {
  NamesByModule names;
  for (const ModuleNames& of : all) names.try_emplace(key_of(of), of);
  return names;
}

bool has_ended(const Experiment& experiment) {
  return experiment.definitions().complete || experiment.manifest().state == "complete" ||
         experiment.manifest().state == "incomplete";
}

/// Adds all that is known of `places` to the kept names of a module, except where a better source has named a place
/// already.
void add(ModuleNames& kept, const ModuleNames& known, std::span<const Place> places) {
  const bool is_worse = known.source < kept.source;
  for (const Place& place : places)
    if (const auto at = known.frames.find(place); at != known.frames.end())
      if (!is_worse || !kept.frames.contains(place)) kept.frames[place] = at->second;
  if (is_worse) return;
  kept.source = known.source;
  kept.why = known.why;
}

}  // namespace

std::vector<NamesOfModule> names_by_module(const Experiment& experiment, bool& has_file) {
  const auto file = read_names(experiment);
  has_file = file && !file->empty();
  std::map<ModuleKey, const ModuleNames*> kept;
  if (file)
    for (const ModuleNames& of : *file) kept.try_emplace(key_of(of), &of);
  std::vector<NamesOfModule> modules;
  for (const auto& [number, places] : places_of(experiment.definitions())) {
    const ProfileModule& module = experiment.definitions().modules[number];
    NamesOfModule& of = modules.emplace_back(NamesOfModule{module.path, module.build_id, places.size()});
    const auto at = kept.find(key_of(module));
    if (at == kept.end()) continue;
    of.source = at->second->source;
    of.why = at->second->why;
    for (const Place& place : places) {
      const auto frames = at->second->frames.find(place);
      if (frames == at->second->frames.end()) continue;
      of.named += frames->second.back().named;
      of.with_line += frames->second.back().line > 0;
    }
  }
  return modules;
}

void use_names(const Experiment& experiment, Symbolizer& symbolizer, const NamingOptions& options) {
  // Tables are read before names: a tool that keeps names removes the tables afterwards.
  const KeptTables tables(experiment);
  const auto file = read_names(experiment);
  const NamesByModule kept = by_module(file.value_or(std::vector<ModuleNames>()));

  const auto& definitions = experiment.definitions();
  const auto places = places_of(definitions);
  std::map<ModuleKey, std::set<Place>> places_of_file;
  std::size_t done = 0, all = 0;
  for (const auto& [number, of] : places) {
    places_of_file[key_of(definitions.modules[number])].insert(of.begin(), of.end());
    all += of.size();
  }
  const auto step = [&] {
    if (options.progress && done++ % 64 == 0) options.progress(std::min(done, all), all + 1);
  };
  bool has_new = false;
  // Each module of a file takes the names of the file's modules before it.
  std::map<ModuleKey, const NamedModule*> best;
  const auto take_from = [](const NamedModule* other, NamedModule& named) {
    if (other && other != &named && other->names().source != NameSource::None) named.take(other->names());
  };
  for (const auto& [number, of] : places) {
    const ProfileModule& module = definitions.modules[number];
    const ModuleKey key = key_of(module);
    NamedModule& named = symbolizer.module(module.path, module.build_id);
    if (const auto at = kept.find(key); at != kept.end()) named.take(at->second);
    if (auto table = tables.find(key)) named.take(std::move(table));
    take_from(std::exchange(best[key], &named), named);
    if (!options.has_ended && !has_ended(experiment)) continue;
    const std::set<Place>& of_file = places_of_file[key];
    has_new |= named.complete(std::vector<Place>(of_file.begin(), of_file.end()), step);
  }
  for (const auto& [number, of] : places) {
    const ProfileModule& module = definitions.modules[number];
    take_from(best[key_of(module)], symbolizer.module(module.path, module.build_id));
  }
  if (options.progress && done > 0) options.progress(all, all);
  if (!has_new || !file || experiment.directory().empty()) return;

  // Another tool may have kept better names in the meantime.
  const auto latest = read_names(experiment);
  if (!latest) return;
  NamesByModule names = by_module(*latest);
  for (const auto& [number, of] : places) {
    const ProfileModule& module = definitions.modules[number];
    const auto [at, is_new] = names.try_emplace(key_of(module));
    if (is_new) at->second.path = module.path, at->second.build_id = module.build_id;
    add(at->second, symbolizer.module(module.path, module.build_id).names(), of);
  }
  std::vector<ModuleNames> modules;
  for (auto& [key, of] : names) modules.push_back(std::move(of));
  try {
    write_names(experiment.directory(), modules);
    if (experiment.damages() == 0) tables.remove();
  } catch (const std::system_error&) {  // another user's directory, or a full disk: the names in memory suffice
  }
}

}  // namespace refrain::symbols
