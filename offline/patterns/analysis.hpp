#pragma once
/// The analysis of a trace: the severity of every pattern, by call path and location, for the whole run.
///
/// If only a sample of iterations was kept, values are estimates for the whole run with their standard errors
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

/// Names of call paths: call paths with the same name share one node.
struct Naming {
  std::function<std::uint32_t(std::uint32_t path)> node_of;
  std::function<std::vector<std::string>(std::uint32_t node)> names_of;  ///< from the root
  std::uint32_t not_on_cpu = 0;  ///< node for time without a known call path, because the thread was not running
  std::uint32_t blocked = 0;     ///< likewise, but the thread is known not to have been waiting for a core
};

struct Request {
  Parameters parameters;
  SearchLimits limits;
  std::optional<std::int64_t> iteration;  ///< restricts the analysis to this iteration, of any loop
  std::string region;                     ///< restricts it to call paths that contain this name
  bool with_causes = false, with_critical_path = false;
  std::size_t headlines = 0;                            ///< maximum number
  std::function<void(std::int64_t time_ns)> progress;   ///< may throw to end the search
  std::function<void(const trace::Event& event)> also;  ///< gets every event of the pass; not in a distributed search
  std::uint64_t most_rows = UINT64_MAX;                 ///< see Search::limit_rows()
  /// For a distributed search, which has no causes, critical path, headlines and plug-in patterns: all processes call
  /// analyse() with the same request, and the first process gets the result.
  SearchProcesses* processes = nullptr;
};

inline constexpr double not_known = -1;
struct Severity {
  double ns = 0, error_ns = 0;  ///< error_ns may be not_known
};

struct PatternResult {
  About about;
  Severity all;
  double confidence = 1;
  bool is_sampled = false;  ///< an estimate from kept iterations
  bool is_partial = false;  ///< events are missing; computed from the others
  bool is_class = false;    ///< the time in a class of calls, which a profile has as well
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
  /// The uncertainty of an estimate at a node, for a block of ranks (Analysis::ranks_in_block).
  struct Replicated {
    std::uint32_t node;
    std::int32_t rank;  ///< first rank of the block
    run::Replicates by;
  };
  /// A call that waited.
  struct Worst {
    std::uint32_t node, location;
    std::int64_t ns;
    std::int64_t enter_ns;  ///< in trace time
    std::string loop;       ///< empty: outside of iterations
    std::int64_t iteration;
  };
  std::vector<ByNode> by_node;          ///< largest first
  std::vector<ByLocation> by_location;  ///< largest first
  std::vector<Cell> cells;              ///< ascending by node and location
  std::vector<Replicated> replicates;   ///< ascending by node and rank; values without replicates are exact
  std::vector<std::string> names;       ///< of the operations or call paths that the pattern is about
  /// From kept events: ascending by node, largest first within a node, at most WorstInstances::most for each node.
  std::vector<Worst> worst = {};
};

/// An Activity with nodes instead of call paths.
struct NamedActivity {
  std::uint32_t location = 0;
  bool is_call = false;                        ///< else computation between two calls
  std::optional<std::uint32_t> before, after;  ///< nodes, as in Activity; nullopt: not known
  auto operator<=>(const NamedActivity&) const = default;
};

/// An activity that made other processes wait.
struct CauseResult {
  NamedActivity activity;
  double ns = 0, direct_ns = 0;
  double off_cpu_ns = 0;  ///< of a call: the part of `ns` in which the thread did not run, at least
  std::vector<PatternResult::ByNode> by_node;  ///< composition of a computation according to samples; largest first
};

/// An activity on the critical path.
struct CriticalResult {
  NamedActivity activity;
  double ns = 0, imbalance_ns = 0;
};

struct CauseResults {
  std::vector<CauseResult> all;  ///< largest first; only for what was kept
  double waiting_ns = 0;         ///< waiting time that was searched for causes; only for what was kept
  double unexplained_ns = 0;     ///< part of `waiting_ns` without a known cause
};

/// A kind of waiting that should be reported first (headlines.hpp).
struct Headline {
  std::string pattern;
  double ns;                         ///< severity of the pattern at `nodes`
  std::vector<std::uint32_t> nodes;  ///< the call path that waits, or several small ones, largest first
  CauseResults causes = {};          ///< of the waiting at the call path; empty for several ones
};

struct CriticalResults {
  std::vector<CriticalResult> all;  ///< largest first
  double ns = 0;                    ///< sum over all activities
};

struct Analysis {
  double total_ns = 0;                  ///< of all locations
  std::vector<PatternResult> patterns;  ///< parents first
  SearchCounts counts;
  bool is_sampled = false;
  /// Time in MPI that nothing that was kept stands for, in nanoseconds.
  double not_covered_ns = 0;
  /// Time in calls that may have waited for messages, if nothing that was kept says whether they did, in nanoseconds.
  double unknown_ns = 0;
  /// Such time by call path, for calls of all kinds that may have waited. Empty for an archive.
  std::vector<PatternResult::ByNode> untold;
  /// Share of the time in MPI that the events stand for; a sample of iterations stands for all of it.
  double seen_share = 1;
  unsigned level = 0;                  ///< for a sample: one of 2^level iterations was kept; maximum over all loops
  std::uint64_t merged_strata = 0;     ///< strata with too few kept iterations, merged into others
  std::int32_t ranks_in_block = 1;     ///< size of a block of PatternResult::Replicated
  std::optional<CauseResults> causes;  ///< if requested
  std::optional<CriticalResults> critical_path;  ///< if requested and known
  std::vector<Headline> headlines;               ///< if requested; largest first
  bool has_iteration = false;                    ///< the requested iteration was found
  bool has_region = true;                        ///< the requested region was found
  /// One line for each pattern that ended with an error. The confidence of such a pattern is 0.
  std::vector<std::string> failures;
};

/// Names of all patterns, parents first; `further`: those of plug-ins.
std::vector<std::string> pattern_names(const Patterns& further = {});

/// A finished search.
class Searched {
 public:
  /// Makes the pass over all events. The trace must outlive this object. `further`: patterns of plug-ins, see
  /// load_plugin().
  Searched(const trace::Trace& trace, Request request, Patterns further = {});
  ~Searched();
  Searched(const Searched&) = delete;
  Searched& operator=(const Searched&) = delete;
  /// The results of the search. `naming` must know all call paths of the trace. `by_path`, unless null, receives the
  /// severities and the untold time of each call path by itself, at node `path + 1`, or 0 for no call path. It has no
  /// profile patterns, causes and headlines.
  Analysis by(const Naming& naming, Analysis* by_path = nullptr) const;

 private:
  class Analyser;
  std::unique_ptr<Analyser> analyser_;
};

/// Searches the trace and returns the results.
Analysis analyse(const trace::Trace& trace, const Naming& naming, const Request& request, Patterns further = {});

}  // namespace refrain::patterns
