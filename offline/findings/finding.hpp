#pragma once
/// A finding is a record of what stands out of a run: what it costs, where, on which ranks, in which iterations, and
/// why. Rules and the search of events make records; sentence.hpp makes English of them, record.hpp describes them for
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

/// A figure that a finding has beside its share. "They" are the ranks, iterations, threads or calls that it is about.
enum class Figure : std::uint8_t {
  Mean,         ///< seconds of one of them
  Others,       ///< the same of the others, or usually
  Low,          ///< seconds of the shortest one, or in the beginning
  High,         ///< seconds of the longest one, or in the end
  Median,       ///< half of them are longer, seconds
  LevelLow,     ///< lowest level of iterations that wander, seconds
  LevelHigh,    ///< their highest level
  LowShare,     ///< the share is at least this
  HighShare,    ///< the share is at most this
  Count,        ///< calls, tests or messages
  Bytes,        ///< of a message on average
  Samples,      ///< that were taken
  WorkShare,    ///< of the time of worker threads in which they have work
  Thread,       ///< number of the thread that has most
  OtherThread,  ///< number of the thread that has least
  Throttled,    ///< seconds for which a quota held threads back
  ToldShare,    ///< of the time of these calls of which events tell
  WaitedShare,  ///< of that, the waiting
  Measured      ///< seconds of a run that is too short for more
};
/// Their names in files, in the order of Figure; docs/reports.md has what they mean.
std::span<const char* const> figure_names();

/// A set of ranks, as ranges.
struct Ranks {
  std::vector<std::pair<std::int32_t, std::int32_t>> ranges;  ///< first and last, ascending

  Ranks() = default;
  /// In any order.
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
  std::int64_t of = 0;                     ///< the loop has so many
  std::int64_t first = 0, last = 0;        ///< the range, both included
  std::int64_t count = 0;                  ///< of single ones; 0: all of the range
  std::int64_t period = 0;                 ///< single ones come every so many; 0: in no order
  std::vector<std::int64_t> numbers = {};  ///< of the first single ones
  std::int64_t ranks_read = 0, ranks = 0;  ///< where fewer were read than there are, the share is scaled to all
  bool is_one_of_several = false;          ///< the program has other loops
};

/// The kind of time in which a thread did not run.
enum class OffCpu : std::uint8_t { No, WaitedForCore, Blocked, Either, Unknown };
/// "waited_for_core"; "": No.
const char* name_of(OffCpu off_cpu);

/// Ranks are late by their time in user code: it is not known how much of it was on a CPU.
inline constexpr const char* by_user_code = "user_code";

using Path = std::vector<std::string>;  ///< functions, from the root

/// The cause of a finding, followed to user code where that is possible.
struct Cause {
  struct Part {
    std::string function;
    double share;  ///< of the difference that the finding is about
  };
  Path path = {};                ///< of the function; empty: none has most of it
  bool is_user = false;          ///< the function is the program's, else of MPI
  OffCpu off_cpu = OffCpu::No;   ///< it is time in which the thread did not run; with a path: that, too
  bool is_many = false;          ///< no function has a part worth naming
  std::vector<Part> parts = {};  ///< functions that have it together, the largest first
  Ranks ranks = {};              ///< on which; empty: on all, or it is not known
  bool is_in_turn = false;       ///< now on one of the ranks and now on another
  double share = 1;              ///< of what the finding costs

  bool is_known() const { return !path.empty() || !parts.empty() || off_cpu != OffCpu::No || is_many; }
};

struct Finding {
  std::string rule = {};  ///< an id of the table of rules
  /// What it costs, of the elapsed time of all ranks, but for `unseen` of the time of all threads; 0: it is no cost.
  double share = 0;
  double error = 0;              ///< standard error of the share; below 0: not known
  std::vector<Path> paths = {};  ///< call paths that have it, the largest first
  Ranks ranks = {};              ///< that have most of it; empty: no few of them have
  std::optional<Iterations> iterations = {};
  Cause cause = {};
  std::map<Figure, double> figures = {};
  std::optional<analysis::SharedCores> cores = {};  ///< host: empty where the run has one
  std::string method = {};                          ///< how waiting is known, as `--waits` calls it; or by_user_code
  std::vector<std::string> names = {};      ///< other names: of unknown call paths, of a caller that tells paths apart
  std::optional<std::size_t> part_of = {};  ///< place of another finding whose cost has this one in it

  /// 0: it has none.
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
  const char* sentence;  ///< with words in braces, which sentence.cpp makes of the record
  const char* more;      ///< options of `refrain report EXPERIMENT` that show more; "": none
  const char* advice;    ///< what to try; "": nothing in general
  void (*find)(const Facts& facts, std::vector<Finding>& found) = nullptr;  ///< null: the search of events makes it
  bool of_iterations = false;                                               ///< looks at Facts::loops
  bool is_waiting = false;                                                  ///< for other processes
};

/// The table.
std::span<const Rule> rules();
/// A kind of waiting that is in no table, of a plug-in, has the rule of waiting.
const Rule& rule_of(const Finding& finding);
/// Whether it is a kind of waiting for other processes.
bool is_waiting(const Finding& finding);
/// Whether some ranks take longer than the others, which wait for them.
bool is_imbalance(const Finding& finding);

/// Words behind `refrain report EXPERIMENT` that show more of it.
std::vector<std::string> options_of(const Finding& finding);

/// Applies the rules: their findings, the largest share first. `facts`: without loops, which are read when the other
/// rules are done. A rule that cannot read its data finds nothing, and the others go on.
std::vector<Finding> find(Facts& facts);

/// Tells of each finding how long was measured, where that is so little that it says little of longer runs.
void note_short_run(const analysis::CallTree& tree, std::vector<Finding>& findings);

/// Three standard errors above nothing.
bool is_certain(const Finding& finding);

/// The largest share first. A finding that says less of the same as another one is left out: a rank that is late for a
/// while is late over the whole run, too. One whose cost is in that of a larger one becomes a part of it.
void relate(std::vector<Finding>& all);

/// The same kind of finding at the same place, in two runs.
bool is_same_kind(const Finding& one, const Finding& other);

}  // namespace refrain::findings
