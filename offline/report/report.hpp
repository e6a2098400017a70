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

#include "offline/analysis/iteration_metrics.hpp"
#include "offline/analysis/severities.hpp"
#include "offline/analysis/symbols.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/report/table.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

/// Text is for people and folds what is small; Json is a document of several tables; Tables stands for the formats of
/// one table (table.hpp).
enum class Format : std::uint8_t { Text, Json, Tables };

/// The words of --format.
std::vector<std::string> format_names();

inline constexpr double usual_min_share = 0.5;

/// A metric of iterations that is not in their profiles, in seconds.
class IterationSource {
 public:
  virtual ~IterationSource() = default;
  /// Of a loop of a location; `selection`: of these call paths, null: of all. An iteration that nothing is known of has
  /// NaN. `profiles` and `selection` must outlive the result.
  virtual analysis::IterationValue of(const analysis::IterationProfiles& profiles, std::int32_t thread,
                                      const analysis::PathSelection* selection) const = 0;
  virtual analysis::Known known() const = 0;
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
    /// From messages that were sampled one by one; nothing: there are none of this call path.
    struct Matched {
      double seconds, error_s;
      std::uint64_t messages;  ///< in the sample
    };
    std::optional<Matched> matched;
    std::string kind;                        ///< the pattern that most of it is; empty: of none
    std::map<std::int32_t, double> by_rank;  ///< of `seconds`, where it was asked for; of other ranks nothing
  };
  std::vector<Of> paths;  ///< of the others there are no events
  bool is_sampled = false;
  double confidence = 1;  ///< as of the pattern of all waiting
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
  std::optional<std::int64_t> iteration;                ///< the call tree of this iteration instead of the run's
  std::optional<std::int32_t> cluster;                  ///< ... of this cluster of one rank
  std::string loop;                                     ///< only this loop; empty: all
  std::optional<std::int32_t> thread;                   ///< of loops: only threads of this number
  std::string metric;               ///< of iterations and locations: what is shown; empty: what is usual
  std::string callpath;             ///< ... of these call paths (offline/analysis/callpath_match.hpp); empty: of all
  bool callsites = false;           ///< call sites of one function kept apart, with module, file and line
  int callpath_depth = 0;           ///< 0: all
  std::vector<std::int32_t> ranks;  ///< in ascending order; empty: all
  std::optional<double> min_share;  ///< percent of the wall time below which text folds a call path
  std::function<void(std::size_t done, std::size_t all)> progress;  ///< of symbol resolution
  std::vector<std::string> findings;                                ///< lines that the first page begins with
  std::optional<std::string> events_not_searched;                   ///< they are too many; what to type
  std::optional<PathWaits> waits_in_events;  ///< of the same call sites and depth; nothing: not known
  /// Asked for the metric of iterations when their profiles do not have it. Null: there is none of the name either.
  /// Throws UsageError when there would be one in other experiments.
  std::function<std::shared_ptr<const IterationSource>(const std::string& metric)> other_metric;

  /// Whether what is asked for is the page that is shown without any option, as text.
  bool is_first_page() const;
  /// Whether the call paths of the whole run are shown.
  bool shows_call_tree() const;

  bool chosen(std::int32_t rank) const;
  /// `name` is one of format_names().
  void set_format(const std::string& name);
};

/// The request does not fit the experiment, or itself.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

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
