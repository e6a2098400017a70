#pragma once
/// A finding records what stands out in a run: what it costs, where, on which ranks, in which iterations, and why.
/// Rules and the search of events make findings; sentence.hpp turns them into English, record.hpp describes them for
/// storage, and runs are compared by them.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "offline/analysis/cores.hpp"

namespace refrain::analysis {
struct CallTree;
}

namespace refrain::findings {

struct Facts;

/// A figure of a finding in addition to its share. "They" are the ranks, iterations, threads or calls that it is about.
enum class Figure : std::uint8_t {
  Mean,         ///< seconds of one of them
  Others,       ///< seconds of one of the others, or the usual value
  Low,          ///< seconds of the shortest one, or in the beginning
  High,         ///< seconds of the longest one, or in the end
  Median,       ///< seconds that half of them exceed
  LevelLow,     ///< lowest level of iterations that wander, seconds
  LevelHigh,    ///< their highest level
  LowShare,     ///< the share is at least this
  HighShare,    ///< the share is at most this
  Count,        ///< calls, tests or messages
  Bytes,        ///< of a message on average
  Samples,      ///< number of samples that were taken
  WorkShare,    ///< part of the time of worker threads in which they have work
  Thread,       ///< number of the thread that has most
  OtherThread,  ///< number of the thread that has least
  Throttled,    ///< seconds for which a quota held threads back
  ToldShare,    ///< part of the time of these calls that events tell of
  WaitedShare,  ///< part of that time that was waiting
  Measured      ///< seconds that were measured, of a run that is too short for more
};
/// Names of the figures in files, in the order of Figure; docs/reports.md describes them.
std::span<const char* const> figure_names();

/// A set of ranks, as ranges.
struct Ranks {
  std::vector<std::pair<std::int32_t, std::int32_t>> ranges;  ///< first and last, ascending

  Ranks() = default;
  /// `ranks`: in any order.
  explicit Ranks(std::vector<std::int32_t> ranks);
  bool empty() const { return ranges.empty(); }
  std::int64_t count() const;
  std::string text() const;  ///< "0-3, 7"
  bool overlaps(const Ranks& other) const;
  bool operator==(const Ranks&) const = default;
};

/// Iterations of a loop: a range, single ones, or those of a period.
struct Iterations {
  std::string loop;                        ///< its name
  std::int64_t of = 0;                     ///< number of iterations of the loop
  std::int64_t first = 0, last = 0;        ///< the range, both included
  std::int64_t count = 0;                  ///< number of single iterations; 0: all of the range
  std::int64_t period = 0;                 ///< distance of single iterations; 0: irregular
  std::vector<std::int64_t> numbers = {};  ///< numbers of the first single iterations
  std::int64_t ranks_read = 0, ranks = 0;  ///< set if not all ranks were read; the share is scaled to all
  bool is_one_of_several = false;          ///< the program has other loops
};

/// The kind of time in which a thread did not run.
enum class OffCpu : std::uint8_t { No, WaitedForCore, Blocked, Either, Unknown };
/// "waited_for_core"; "" for No.
const char* name_of(OffCpu off_cpu);

/// Finding::method if ranks are late by their time in user code, and it is not known how much of it was on a CPU.
inline constexpr const char* by_user_code = "user_code";

using Path = std::vector<std::string>;  ///< functions, from the root

/// The cause of a finding, followed to user code where that is possible.
struct Cause {
  struct Part {
    std::string function;
    double share;  ///< of the difference that the finding is about
  };
  Path path = {};                ///< of the function; empty: no function has most of it
  bool is_user = false;          ///< the function is the program's, else of MPI
  OffCpu off_cpu = OffCpu::No;   ///< the thread did not run for this reason; if there is a path, in addition
  bool is_many = false;          ///< no function has a part worth naming
  std::vector<Part> parts = {};  ///< functions that have most of it together, the largest first
  Ranks ranks = {};              ///< ranks of the cause; empty: all ranks, or not known
  bool is_in_turn = false;       ///< now one of the ranks, now another
  double share = 1;              ///< of the cost of the finding

  bool is_known() const { return !path.empty() || !parts.empty() || off_cpu != OffCpu::No || is_many; }
};

struct Finding {
  std::string rule = {};  ///< an id of the table of rules
  /// The cost, of the elapsed time of all ranks, but for `unseen` of the time of all threads; 0: finding without cost.
  double share = 0;
  double error = 0;              ///< standard error of the share; below 0: not known
  std::vector<Path> paths = {};  ///< call paths of the cost, the largest first
  Ranks ranks = {};              ///< ranks with most of the cost; empty: it is not on a few ranks
  std::optional<Iterations> iterations = {};
  Cause cause = {};
  std::map<Figure, double> figures = {};
  std::optional<analysis::SharedCores> cores = {};  ///< host: empty if the run has only one
  std::string method = {};                          ///< how waiting is known, as `--waits` calls it; or by_user_code
  std::vector<std::string> names = {};      ///< other names: of unknown call paths, of a caller that tells paths apart
  std::optional<std::size_t> part_of = {};  ///< index of another finding whose cost includes this one

  /// 0: the finding has no such figure.
  double figure(Figure of) const {
    const auto at = figures.find(of);
    return at == figures.end() ? 0 : at->second;
  }
  bool has(Figure of) const { return figures.contains(of); }
};

/// A kind of finding.
struct Rule {
  const char* id;
  const char* help;      ///< what it finds
  const char* sentence;  ///< with fields in braces, which sentence.cpp fills in from the record
  const char* more;      ///< options of `refrain report EXPERIMENT` that show more; "": none
  const char* advice;    ///< what to try; "": nothing in general
  void (*find)(const Facts& facts, std::vector<Finding>& found) = nullptr;  ///< null: the search of events makes it
  bool of_iterations = false;                                               ///< looks at Facts::loops
  bool is_waiting = false;                                                  ///< a kind of waiting for other processes
};

/// The table of rules.
std::span<const Rule> rules();
/// A kind of waiting of a plug-in, which is not in the table, has the general rule of waiting.
const Rule& rule_of(const Finding& finding);
/// Whether the finding is a kind of waiting for other processes.
bool is_waiting(const Finding& finding);
/// Whether some ranks take longer than the others, which wait for them.
bool is_imbalance(const Finding& finding);

/// Arguments of `refrain report EXPERIMENT` that show more of the finding.
std::vector<std::string> options_of(const Finding& finding);

/// Applies the rules and returns their findings, the largest share first. `facts` has no loops yet: they are read after
/// the other rules. A rule that cannot read its data finds nothing, and the others go on.
std::vector<Finding> find(Facts& facts);

/// Notes in each finding how long was measured, if that is too short to tell much of longer runs.
void note_short_run(const analysis::CallTree& tree, std::vector<Finding>& findings);

/// Whether the share is more than three standard errors above 0, or the finding is without cost.
bool is_certain(const Finding& finding);

/// Sorts by share, the largest first. Removes a finding that says less of the same than another one: a rank that is
/// late for a while is late over the whole run, too. A finding whose cost is included in a larger one becomes a part of
/// it.
void relate(std::vector<Finding>& all);

/// Whether findings of two runs are of the same kind at the same place.
bool is_same_kind(const Finding& one, const Finding& other);

}  // namespace refrain::findings
