#pragma once
/// The report of an experiment: a view of it, printed for people or for programs.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/symbols.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/findings/finding.hpp"
#include "offline/report/table.hpp"
#include "offline/report/terminal.hpp"
#include "offline/run/iteration_metrics.hpp"
#include "offline/run/quantities.hpp"

namespace refrain::report {

/// Text is for people and folds what is small; Json is a document of several tables; Tables stands for the formats of
/// one table (table.hpp).
enum class Format : std::uint8_t { Text, Json, Tables };

/// The words of --format.
std::vector<std::string> format_names();

inline constexpr double usual_min_share = 1;

/// A metric of iterations that is not in their profiles, in seconds.
class IterationSource {
 public:
  virtual ~IterationSource() = default;
  /// Of a loop of a location; `selection`: of these call paths, null: of all. An iteration that nothing is known of has
  /// NaN. `profiles` and `selection` must outlive the result.
  virtual run::IterationValue of(const run::IterationProfiles& profiles, std::int32_t thread,
                                      const run::PathSelection* selection) const = 0;
  virtual run::Known known() const = 0;
  /// A sentence on how the values are known; `share`: of so many of the iterations, more than none.
  virtual std::string origin(double share) const = 0;
  /// Why no iteration of a loop has a value.
  virtual std::string why_none() const = 0;
};

/// How long call paths have waited for other processes, as events tell.
struct PathWaits {
  struct Of {
    std::int64_t path;        ///< of the definitions; the first one of a node of the call tree stands for all of it
    double seconds, error_s;  ///< error: of an estimate from a sample of iterations
    double seen_s;            ///< time in MPI that what was kept stands for
    double known_s;           ///< of that, time of calls of which the events tell whether they have waited
    /// From messages that were sampled one by one; nothing: there are none of this call path.
    struct Matched {
      double seconds, error_s;
      std::uint64_t messages;         ///< in the sample
      bool is_late_receiver = false;  ///< of senders; else late senders
    };
    std::optional<Matched> matched;
    std::string kind;                        ///< the pattern that most of it is; empty: of none
    std::map<std::int32_t, double> by_rank;  ///< of `seconds`, where it was asked for; of other ranks nothing
  };
  std::vector<Of> paths;  ///< of the others there are no events
  bool is_sampled = false;
  double confidence = 1;  ///< as of the pattern of all waiting
};

/// With whom call paths exchange messages, and their time by communicator, in the events that were kept.
struct EventTraffic {
  struct Partners {
    std::int64_t path;          ///< as in PathWaits
    std::int64_t fewest, most;  ///< ranks that messages of one thread go to or come from
  };
  struct OnCommunicator {
    std::int64_t path;
    std::int32_t communicator;  ///< index into trace::Communicators::all() of all ranks; -1: it is not known
    double seconds;             ///< of the calls that were kept
    std::int64_t calls;
  };
  std::vector<Partners> partners;
  std::vector<OnCommunicator> communicators;
};

struct Options {
  Format format = Format::Text;
  const TableFormat* table_format = &table_formats[0];  ///< of Format::Tables
  bool flat = false;                                    ///< by function instead of by call path
  bool iterations = false;                              ///< every iteration of the marked loops
  bool windows = false;                                 ///< one-sided operations by window, origin and target
  bool waits = false;                                   ///< waiting of call paths, by all methods
  bool clusters = false;                                ///< the clusters of iterations of every location
  bool events = false;                                  ///< what was kept of events
  bool locations = false;                               ///< rank by rank, thread by thread
  bool mpi = false;                                     ///< call sites of MPI
  bool modules = false;                                 ///< by executable and library
  bool sizes = false;                                   ///< what calls move, as a histogram
  bool nodes = false;                                   ///< by machine
  bool communicators = false;
  bool all_findings = false;              ///< and not only the largest
  std::string callers;                    ///< of this function
  std::string source;                     ///< lines of this file
  std::string sort;                       ///< column of a table; a minus before it: the other way round
  std::optional<std::int64_t> limit;      ///< rows of a table
  std::vector<std::string> columns;       ///< of a table, in this order; empty: all
  std::optional<std::int64_t> iteration;  ///< the call tree of this iteration instead of the run's
  std::optional<std::int32_t> cluster;    ///< ... of this cluster of one rank
  std::string loop;                       ///< only this loop; empty: all
  std::optional<std::int32_t> thread;     ///< only threads of this number
  std::string metric;                     ///< of iterations and locations: what is shown; empty: what is usual
  std::string callpath;    ///< ... of these call paths (offline/analysis/callpath_match.hpp); empty: of all
  bool callsites = false;  ///< call sites of one function kept apart, with module, file and line
  int callpath_depth = 0;  ///< 0: all
  analysis::ModuleFold fold = {{}, true};
  std::vector<std::int32_t> ranks;  ///< in ascending order; empty: all
  /// Rank and thread, ascending: of these ranks only these threads.
  std::vector<std::pair<std::int32_t, std::int32_t>> threads_of_ranks;
  std::optional<double> min_share;  ///< percent of the wall time below which text folds a call path
  std::function<void(std::size_t done, std::size_t all)> progress;  ///< of symbol resolution
  std::vector<findings::Finding> findings;                          ///< what is told first
  /// Called when the call tree is there; fills what events tell, which is searched for meanwhile.
  std::function<void(Options&)> end_of_search;
  std::optional<std::string> events_not_searched;  ///< they are too many; what to type
  std::optional<PathWaits> waits_in_events;        ///< of the same call sites and depth; nothing: not known
  std::optional<EventTraffic> traffic;             ///< likewise
  /// Asked for the metric of iterations when their profiles do not have it. Null: there is none of the name either.
  /// Throws UsageError when there would be one in other experiments.
  std::function<std::shared_ptr<const IterationSource>(const std::string& metric)> other_metric;

  /// Whether what is asked for is the page that is shown without any option, as text.
  bool is_first_page() const;
  bool needs_findings() const { return is_first_page() || all_findings || format == Format::Json; }
  /// Whether the view is of call sites, whatever callsites says.
  bool needs_callsites() const { return mpi || modules || !source.empty(); }
  /// Whether the call paths of the whole run are shown.
  bool shows_call_tree() const;
  /// Whether what is shown has parts that a search tells.
  bool needs_search() const { return shows_call_tree() || needs_traffic() || all_findings; }
  bool needs_traffic() const { return (mpi || communicators) && ranks.empty(); }

  bool chosen(std::int32_t rank) const;
  bool chosen(std::int32_t rank, std::int32_t thread_number) const;
  bool some_threads() const { return thread.has_value() || !threads_of_ranks.empty(); }
  /// `name` is one of format_names().
  void set_format(const std::string& name);
};

/// The request does not fit the experiment, or itself.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Of which ranks and threads the call tree is, and how call paths are told apart; symbols are resolved with progress.
analysis::CallTreeOptions tree_options(const Options& options);

/// Throws UsageError when the experiment lacks one of the `wanted` ranks.
void check_ranks(const experiment::Experiment& experiment, const std::vector<std::int32_t>& wanted);

/// What render() throws before it reads anything.
void check_request(const experiment::Experiment& experiment, const Options& options);

/// Nothing is handed to `out` before the request is known to be good. Throws UsageError when something is asked for
/// that the experiment does not have (a rank, a thread, a loop, a metric, a call path, an iteration, a cluster), or
/// when an option would change nothing in what is shown. Damage is in experiment->damage() afterwards.
void render(const std::shared_ptr<const experiment::Experiment>& experiment, const Options& options,
            const Terminal& terminal, analysis::Symbolizer& symbolizer, const Sink& out);

}  // namespace refrain::report
