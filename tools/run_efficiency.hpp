#pragma once
/// The efficiency of an experiment, for commands that compare several experiments or examine single factors.

#include <optional>
#include <string>
#include <vector>

#include "offline/analysis/efficiency.hpp"

namespace refrain::tools {

struct RunEfficiency {
  std::string region;  ///< empty: the run
  std::int64_t processes = 0;
  std::string program;
  std::optional<analysis::Efficiency> efficiency;  ///< nothing: no useful time was measured
  double useful_s = 0, mpi_s = 0;                  ///< sum over the processes that were read, which `efficiency` is of
  std::string why_no_waits;                        ///< empty: serialisation and transfer are known
  std::optional<double> instructions, cycles;      ///< in useful time of the same processes; nothing: not counted
  double all_over_read = 1;                        ///< factor to sums over all processes, all of which worked
  std::optional<std::int64_t> started_s;           ///< seconds since 1970; nothing: not known
  bool is_sampled = false;                         ///< useful time comes from samples
  bool is_damaged = false;                         ///< a part of the experiment could not be read
};

/// Efficiencies as in `refrain report --efficiency`: one for each of `regions`, which are marked regions or functions
/// or, for an empty name, the run; then, if `with_loops`, one for each marked loop. Reads the experiment and searches
/// its events once. Reports damage as `command`. Throws experiment::ReadError, and report::UsageError if there is no
/// such region.
std::vector<RunEfficiency> run_efficiencies(const char* command, const std::string& experiment,
                                            std::vector<std::string> regions, bool with_loops = false);

/// A bound on a factor, as in "parallel>=0.8".
struct EfficiencyBound {
  const analysis::EfficiencyFactor* factor = nullptr;
  bool is_least = true;  ///< else the factor must be at most `value`
  double value = 0;
};
/// Nothing: `text` is not a bound.
std::optional<EfficiencyBound> parse_efficiency_bound(const std::string& text);
/// Why `text` is not a bound; empty: it is one.
std::string wrong_as_efficiency_bound(const std::string& text);

}  // namespace refrain::tools
