#pragma once
/// Processes with several threads: what the others do while the first one goes on.
///
/// Of an archive that has the functions of the program, a thread works from when it enters one to when it has left all.
/// Between two events of a process nothing changes: so for each such piece of time it is known where the first thread
/// is, and which others have nothing to do.
///
/// An experiment has only samples of the program, and those of short phases of several threads do not meet. So there
/// the profile tells (finish_threads()): how long threads were not on a processor, and what the first thread
/// has executed outside of parallel regions.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "offline/patterns/analysis.hpp"
#include "offline/patterns/pattern.hpp"
#include "offline/patterns/search.hpp"

namespace refrain::patterns {

/// Of archives: from enters and leaves to IdleThreads.
class Search::Threads {
 public:
  explicit Threads(Search& search);
  /// Whether a process has several of which it is known what they do.
  bool are_there() const { return !processes_.empty(); }
  /// The next event comes; the search has not taken it yet.
  void before(const trace::Event& event);
  /// It has.
  void after(const trace::Event& event);
  /// There are no more: who has nothing to do now is there as long as the first thread.
  void finish();

 private:
  struct Process {
    std::uint32_t first;                ///< the location of its first thread
    std::uint32_t others = 0;           ///< that have begun, and not ended
    std::vector<std::uint32_t> idle;    ///< locations of these that have nothing to do
    std::int64_t since_ns = INT64_MIN;  ///< nothing has changed
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

/// Of an archive the results of these patterns, by their names, stay as they were found; if it has samples, nothing is
/// known. Of an experiment they come from the profile, of all ranks with several threads. `is_of_run`: else nothing is
/// known. `is_wanted`: nodes; empty: all.
void finish_threads(const trace::Trace& trace, const Naming& naming, bool is_of_run,
                    const std::function<bool(std::uint32_t node)>& is_wanted, std::vector<PatternResult>& results);

}  // namespace refrain::patterns
