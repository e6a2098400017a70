#pragma once
/// Puts the profiles of single ranks together, with unified definitions: what the ranks do at the end of a complete
/// run, done offline for one that was not.

#include <map>
#include <string>
#include <tuple>

#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

class ProfileMerger {
 public:
  ProfileMerger();
  /// Takes over the ranks of `part` that are not there yet. `name` is that of its file, for the ReadError that is
  /// thrown when the part defines a call path twice.
  void add(Profile part, const std::string& name);
  bool has_rank(std::int32_t rank) const;
  /// The result, never marked complete. Nothing may be added afterwards.
  Profile take();

 private:
  using PathKey = std::tuple<std::uint32_t, NodeKind, std::int32_t, std::uint64_t>;
  std::int32_t module_number(const ProfileModule& module);
  std::uint64_t region_number(const std::string& name);
  std::uint32_t path_number(const CallPath& path);
  std::size_t metric_number(const ExtraMetric& metric);

  Profile profile_;
  std::map<std::pair<bool, std::string>, std::int32_t> modules_;  ///< by (has a build-id, build-id or path)
  std::map<std::string, std::uint64_t> regions_;
  std::map<PathKey, std::uint32_t> paths_;
};

}  // namespace refrain::experiment
