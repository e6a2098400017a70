#pragma once
/// Whether there were enough cores: which cores the ranks on each machine could use, and which ranks shared them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "offline/experiment/profile.hpp"

namespace refrain::analysis {

/// "0-3,8"
std::string core_list(const std::vector<experiment::Cores::Run>& cores);

/// The ranks on one machine.
struct NodeCores {
  std::string host;
  std::int64_t ranks = 0, threads = 0;
  std::optional<std::int64_t> cores;  ///< that any of the ranks could use; none: not known of all of them
  double quota = 0;                   ///< cores' worth of CPU time that the control group allows; 0: no quota
  /// How long quotas have held threads back; none: not known. What ranks tell of one control group is the same.
  std::optional<double> throttled_s;
};

/// Ranks of one machine that had fewer cores than they are, or whose threads together used all they had.
struct SharedCores {
  std::string host;
  std::int64_t ranks = 0, threads = 0;  ///< threads: 0 where the ranks alone are more than the cores
  std::int64_t cores = 0;
  double quota = 0;  ///< above 0: what there is less of than cores
};

class CoreUse {
 public:
  void add(const experiment::Rank& rank);
  /// By host.
  std::vector<NodeCores> nodes() const;
  /// Where cores were shared, worst first. A machine is named once, by its ranks with the fewest cores each.
  std::vector<SharedCores> shared() const;

 private:
  using Runs = std::vector<experiment::Cores::Run>;
  struct OfCores {  ///< ranks that could use the same cores
    std::int64_t ranks = 0, threads = 0;
    double cpu_s = 0, elapsed_s = 0;  ///< CPU time of all; the longest rank's wall time
  };
  struct OfNode {
    std::map<std::vector<std::pair<std::uint32_t, std::uint32_t>>, OfCores> by_cores;
    std::int64_t ranks = 0, threads = 0, unknown = 0, with_quota = 0;
    double quota = 0;
    std::optional<double> throttled_s;
  };
  std::map<std::string, OfNode> nodes_;
};

/// "4 ranks share 2 cores of node1"
std::string sentence(const SharedCores& shared, bool with_host);

}  // namespace refrain::analysis
