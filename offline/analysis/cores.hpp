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
  std::optional<std::int64_t> cores;  ///< cores that any of the ranks could use; nothing: not known of all ranks
  double quota = 0;                   ///< cores' worth of CPU time that the control group allows; 0: no quota
  /// How long quotas have held threads back; nothing: not known. Ranks of one control group report the same value.
  std::optional<double> throttled_s;
};

/// Ranks of one machine that outnumber their cores, or whose threads outnumber them and together used nearly all.
struct SharedCores {
  std::string host;
  std::int64_t ranks = 0, threads = 0;  ///< threads: 0 if the ranks alone outnumber the cores
  std::int64_t cores = 0;
  double quota = 0;  ///< above 0: the limit, which is lower than the number of cores
};

class CoreUse {
 public:
  void add(const experiment::Rank& rank);
  /// Sorted by host.
  std::vector<NodeCores> nodes() const;
  /// The ranks that shared cores, worst first. Each machine is listed once, by its ranks with the fewest cores each.
  std::vector<SharedCores> shared() const;

 private:
  using Runs = std::vector<experiment::Cores::Run>;
  struct OfCores {  ///< ranks that could use the same cores
    std::int64_t ranks = 0, threads = 0;
    double cpu_s = 0, elapsed_s = 0;  ///< CPU time of all ranks; wall time of the longest rank
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
