#include "offline/experiment/definition_merger.hpp"

#include <algorithm>

#include "format/profile_file.hpp"
#include "offline/experiment/damage.hpp"

namespace refrain::experiment {
namespace {

/// Returns the number of `key` in `list`. Appends `value` to the list when the key is new.
template <class Number, class Map, class Key, class List, class Value>
Number number_of(Map& known, const Key& key, List& list, const Value& value) {
  const auto [at, is_new] = known.try_emplace(key, static_cast<Number>(list.size()));
  if (is_new) list.push_back(value);
  return at->second;
}

}  // namespace

std::int32_t DefinitionMerger::module_number(const ProfileModule& module) {
  const bool by_id = !module.build_id.empty();
  return number_of<std::int32_t>(modules_, std::pair(by_id, by_id ? module.build_id : module.path), merged_.modules,
                                 module);
}

std::uint64_t DefinitionMerger::region_number(const std::string& name) {
  return number_of<std::uint64_t>(regions_, name, merged_.regions, name);
}

std::uint32_t DefinitionMerger::path_number(const CallPath& path) {
  return number_of<std::uint32_t>(paths_, PathKey(path.parent, path.kind, path.module, path.offset), merged_.paths,
                                  path);
}

std::vector<std::uint32_t> DefinitionMerger::add(const ProfileDefinitions& file, const std::string& name) {
  if (merged_.version.empty()) merged_.version = file.version;
  merged_.ranks_expected = std::max(merged_.ranks_expected, file.ranks_expected);
  std::vector<std::uint32_t> mapping{0};
  for (std::size_t i = 1; i < file.paths.size(); ++i) {
    CallPath path = file.paths[i];
    path.parent = mapping[path.parent];
    if (path.module >= 0) path.module = module_number(file.modules[static_cast<std::size_t>(path.module)]);
    if (format::is_named(path.kind)) path.offset = region_number(file.regions[path.offset]);
    mapping.push_back(path_number(path));
  }
  auto used = mapping;
  std::ranges::sort(used);
  if (std::ranges::adjacent_find(used) != used.end()) throw ReadError(name + ": a call path is defined twice");
  return mapping;
}

ProfileDefinitions DefinitionMerger::take() { return std::move(merged_); }

}  // namespace refrain::experiment
