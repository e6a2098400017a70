#pragma once
/// Merges the definitions of several files. The ranks do this at the end of a complete run; for a run that did not
/// finish it is done offline.

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

class DefinitionMerger {
 public:
  /// Returns the merged call path of each call path of `file`. Throws ReadError when a call path is defined twice;
  /// `name` is the file's name.
  std::vector<std::uint32_t> add(const ProfileDefinitions& file, const std::string& name);
  /// The merged definitions, which are never `complete`. Nothing may be added afterwards.
  ProfileDefinitions take();

 private:
  using PathKey = std::tuple<std::uint32_t, NodeKind, std::int32_t, std::uint64_t>;
  std::int32_t module_number(const ProfileModule& module);
  std::uint64_t region_number(const std::string& name);
  std::uint32_t path_number(const CallPath& path);

  ProfileDefinitions merged_{{}, 1, false, {}, {}, {{0, NodeKind::Root, -1, 0}}};
  std::map<std::pair<bool, std::string>, std::int32_t> modules_;  ///< by (has a build-id, build-id or path)
  std::map<std::string, std::uint64_t> regions_;
  std::map<PathKey, std::uint32_t> paths_;
};

}  // namespace refrain::experiment
