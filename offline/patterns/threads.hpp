#pragma once
/// Processes with several threads: what the other threads do while the first one runs.
///
/// In an archive that has the functions of the program, a thread works from the time it enters one until it has left
/// all. Between two events of a process nothing changes, so for each such interval it is known where the first thread
/// is and which other threads are idle.
///
/// An experiment has only samples of the program, and in short phases the samples of several threads do not coincide.
/// There the profile is used instead (finish_threads()): how long threads were not on a processor, and what the first
/// thread executed outside of parallel regions.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "offline/patterns/analysis.hpp"
#include "offline/patterns/pattern.hpp"
#include "offline/patterns/search.hpp"

namespace refrain::patterns {

/// For archives: makes IdleThreads from Enter and Leave events.
class Search::Threads {
 public:
  explicit Threads(Search& search);
  /// Whether a process has several threads, and it is known what they do.
  bool are_there() const { return !processes_.empty(); }
  /// Called before the search takes the event.
  void before(const trace::Event& event);
  /// Called after the search has taken it.
  void after(const trace::Event& event);
  /// Called after the last event: a thread that is idle then exists as long as the first thread.
  void finish();

 private:
  struct Process {
    std::uint32_t first;                ///< the location of its first thread
    std::uint32_t others = 0;           ///< number of others that have begun and not ended
    std::vector<std::uint32_t> idle;    ///< locations of the idle ones
    std::int64_t since_ns = INT64_MIN;  ///< time of the last change
  };
  enum class State : std::uint8_t { Absent, Works, Idle, Unknown };
  static constexpr std::uint32_t none = 0xffffffff;
  void change(Process& process, std::uint32_t location, State to);

  Search& search_;
  std::vector<Process> processes_;
  std::vector<std::uint32_t> process_of_;  ///< by location; none: it is the only thread
  std::vector<State> states_;              ///< by location
};

/// IdleWorkers and SerialSections.
Patterns thread_patterns();

/// Completes the results of these patterns, which are found by their names. For an archive they stay as they are; if it
/// has samples, or no calls but those of MPI, nothing is known. For an experiment they come from the profile, of all
/// ranks with several threads. `is_of_run`: whether the whole run is analysed; otherwise nothing is known. `is_wanted`:
/// selects nodes; empty: all.
void finish_threads(const trace::Trace& trace, const Naming& naming, bool is_of_run,
                    const std::function<bool(std::uint32_t node)>& is_wanted, std::vector<PatternResult>& results);

}  // namespace refrain::patterns
