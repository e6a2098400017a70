#pragma once
/// Unites the definitions of several files: what the ranks do at the end of a complete run, done offline for one that
/// did not finish.

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

class DefinitionMerger {
 public:
  /// For each call path of `file` that of the result. Throws ReadError when a call path is defined twice; `name` is
  /// that of the file.
  std::vector<std::uint32_t> add(const ProfileDefinitions& file, const std::string& name);
  /// Never complete. Nothing may be added afterwards.
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
