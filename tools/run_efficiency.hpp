#pragma once
/// The efficiency of an experiment, for commands that look at several or at single factors of it.

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
  double useful_s = 0, mpi_s = 0;                  ///< of the processes that were read, as their efficiency is
  std::string why_no_waits;                        ///< empty: serialisation and transfer are known
  std::optional<double> instructions, cycles;      ///< of useful time, likewise; nothing: not counted
  double all_over_read = 1;                        ///< sums times this are of all processes, which have all worked
  std::optional<std::int64_t> started_s;           ///< since 1970; nothing: not known
  bool is_sampled = false;                         ///< useful time comes from samples
  bool is_damaged = false;                         ///< a part of the experiment could not be read
};

/// As `refrain report --efficiency` has them: one for each of `regions`, which are marked regions or functions, and the
/// run for an empty name; then, `with_loops`, one for each marked loop. The experiment is read and its events are
/// searched once. Damage is told as one of `command`. Throws experiment::ReadError, and report::UsageError when there
/// is no such region.
std::vector<RunEfficiency> run_efficiencies(const char* command, const std::string& experiment,
                                            std::vector<std::string> regions, bool with_loops = false);

/// A bound on a factor, as in "parallel>=0.8".
struct EfficiencyBound {
  const analysis::EfficiencyFactor* factor = nullptr;
  bool is_least = true;  ///< else the factor is to be at most `value`
  double value = 0;
};
/// Nothing: it is not one.
std::optional<EfficiencyBound> parse_efficiency_bound(const std::string& text);
/// The reason why a text is no bound; empty: it is one.
std::string wrong_as_efficiency_bound(const std::string& text);

}  // namespace refrain::tools
