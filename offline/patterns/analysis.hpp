#pragma once
/// A trace analysed: every pattern with its severity by call path and location, for the run.
///
/// Where only a sample of iterations was kept, values are estimates of the whole run with their standard errors
/// (estimate.hpp).

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offline/patterns/causes.hpp"
#include "offline/patterns/critical_path.hpp"
#include "offline/patterns/pattern.hpp"
#include "offline/run/quantities.hpp"

namespace refrain::patterns {

/// What call paths are called: those of one name are one node.
struct Naming {
  std::function<std::uint32_t(std::uint32_t path)> node_of;
  std::function<std::vector<std::string>(std::uint32_t node)> names_of;  ///< from the root
  std::uint32_t not_on_cpu = 0;  ///< node for time of which no call path is known, as the thread did not run
  std::uint32_t blocked = 0;     ///< the same where the thread is known not to have waited for a core
};

struct Request {
  Parameters parameters;
  SearchLimits limits;
  std::optional<std::int64_t> iteration;  ///< only this one, of any loop
  std::string region;                     ///< only call paths with this name in them
  bool with_causes = false, with_critical_path = false;
  std::size_t headlines = 0;                            ///< at most so many
  std::function<void(std::int64_t time_ns)> progress;   ///< may throw, which ends the search
  std::function<void(const trace::Event& event)> also;  ///< gets every event of the pass; not of several processes
  std::uint64_t most_rows = UINT64_MAX;                 ///< see Search::limit_rows()
  /// Of a search by several processes, without causes, critical path, headlines and patterns of plug-ins: all call
  /// analyse() with the same request; the first one has the result.
  SearchProcesses* processes = nullptr;
};

inline constexpr double not_known = -1;
struct Severity {
  double ns = 0, error_ns = 0;  ///< error: not_known, too
};

struct PatternResult {
  About about;
  Severity all;
  double confidence = 1;
  bool is_sampled = false;  ///< an estimate from kept iterations
  bool is_partial = false;  ///< events are missing: what the rest of them tells
  bool is_class = false;    ///< the time in a class of calls, of which a profile has its own
  struct ByNode {
    std::uint32_t node;
    Severity severity;
  };
  struct ByLocation {
    std::uint32_t location;
    Severity severity;
  };
  struct Cell {
    std::uint32_t node, location;
    double ns;
  };
  /// How much an estimate may be off at a node, of a block of ranks (Analysis::ranks_in_block).
  struct Replicated {
    std::uint32_t node;
    std::int32_t rank;  ///< the first of the block
    run::Replicates by;
  };
  /// A call that has waited.
  struct Worst {
    std::uint32_t node, location;
    std::int64_t ns;
    std::int64_t enter_ns;  ///< as a time of the trace
    std::string loop;       ///< empty: outside of iterations
    std::int64_t iteration;
  };
  std::vector<ByNode> by_node;          ///< largest first
  std::vector<ByLocation> by_location;  ///< largest first
  std::vector<Cell> cells;              ///< ascending by node and location
  std::vector<Replicated> replicates;   ///< ascending by node and rank; of what is not there values are exact
  std::vector<std::string> names;       ///< of operations or call paths that the pattern is about
  /// Of kept events, ascending by node, of each the largest first, WorstInstances::most at most.
  std::vector<Worst> worst = {};
};

/// An activity by the names of call paths.
struct NamedActivity {
  std::uint32_t location = 0;
  bool is_call = false;                        ///< else computation between two calls
  std::optional<std::uint32_t> before, after;  ///< nodes, as in Activity; nothing: not known
  auto operator<=>(const NamedActivity&) const = default;
};

/// What has made processes wait.
struct CauseResult {
  NamedActivity activity;
  double ns = 0, direct_ns = 0;
  std::optional<double> off_cpu_ns;  ///< of a call: of `ns` its thread did not run, at least; nothing: not known
  std::vector<PatternResult::ByNode> by_node;  ///< of a computation, what samples say it consists of; largest first
};

/// What is on the critical path.
struct CriticalResult {
  NamedActivity activity;
  double ns = 0, imbalance_ns = 0;
};

struct CauseResults {
  std::vector<CauseResult> all;  ///< largest first; of what was kept
  double waiting_ns = 0;         ///< that causes were looked for; of what was kept
  double unexplained_ns = 0;     ///< of that
};

/// A kind of waiting that should be told first (headlines.hpp).
struct Headline {
  std::string pattern;
  double ns;                         ///< of the pattern
  std::vector<std::uint32_t> nodes;  ///< the call path that waits, or several small ones, the largest first
  CauseResults causes = {};          ///< of waiting at the call path; none of several ones
};

struct CriticalResults {
  std::vector<CriticalResult> all;  ///< largest first
  double ns = 0;                    ///< of all
};

struct Analysis {
  double total_ns = 0;                  ///< of all locations
  std::vector<PatternResult> patterns;  ///< parents first
  SearchCounts counts;
  bool is_sampled = false;
  /// Time in MPI for which nothing that was kept stands. Nanoseconds.
  double not_covered_ns = 0;
  /// Time in calls that may have waited for messages, where nothing that was kept says whether they have. Nanoseconds.
  double unknown_ns = 0;
  /// The same by call path, and of calls of all kinds that may have waited. Of an archive nothing.
  std::vector<PatternResult::ByNode> untold;
  /// Of the time in MPI, the share that the events stand for; a sample of iterations stands for all.
  double seen_share = 1;
  unsigned level = 0;                  ///< of a sample: one of 2^level iterations was kept, the highest of all loops
  std::uint64_t merged_strata = 0;     ///< held too few kept iterations, and were put to others
  std::int32_t ranks_in_block = 1;     ///< of PatternResult::Replicated
  std::optional<CauseResults> causes;  ///< where they were asked for
  std::optional<CriticalResults> critical_path;  ///< where it was asked for and is known
  std::vector<Headline> headlines;               ///< where they were asked for; largest first
  bool has_iteration = false;                    ///< that was asked for
  bool has_region = true;                        ///< that was asked for
  /// Of patterns that have ended with an error: a line each. Their confidence is 0.
  std::vector<std::string> failures;
};

/// Names of all patterns, parents first; `further`: those of plug-ins.
std::vector<std::string> pattern_names(const Patterns& further = {});

/// A search that has come to its end.
class Searched {
 public:
  /// Makes the pass over all events. The trace must outlive it. `further`: patterns of plug-ins, see load_plugin().
  Searched(const trace::Trace& trace, Request request, Patterns further = {});
  ~Searched();
  Searched(const Searched&) = delete;
  Searched& operator=(const Searched&) = delete;
  /// What it has found. `naming` must know all call paths of the trace. `by_path`: unless null, becomes what it has
  /// found at each call path by itself: severities, and what is not told, by `path + 1`; 0 stands for what has no call
  /// path. Without patterns of the profile, causes and headlines.
  Analysis by(const Naming& naming, Analysis* by_path = nullptr) const;

 private:
  class Analyser;
  std::unique_ptr<Analyser> analyser_;
};

/// Both at once.
Analysis analyse(const trace::Trace& trace, const Naming& naming, const Request& request, Patterns further = {});

}  // namespace refrain::patterns
