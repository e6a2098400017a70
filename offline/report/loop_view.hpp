#pragma once
/// The loops that a report of iterations or clusters is about. They are found once; each location is read when its turn
/// comes, so no more than one rank is held.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offline/analysis/callpath_match.hpp"
#include "offline/report/overview.hpp"
#include "offline/report/report.hpp"
#include "offline/run/iteration_metrics.hpp"
#include "offline/run/loops.hpp"

namespace refrain::report {

using run::LoopPlace;
using run::OpenLoop;

/// An iteration with its wall time, the largest over the locations.
struct SlowIteration {
  std::int64_t iteration;
  double wall_s;
};

/// A loop over all chosen ranks.
struct LoopGroup {
  std::string name;
  std::int64_t iterations = 0;  ///< maximum over locations
  std::vector<LoopPlace> locations;
  bool threads = false;                     ///< some locations are not the first thread of their rank
  std::int64_t thinned_from = 0;            ///< from this iteration on the logs keep one of several
  std::int64_t kept_every = 1;              ///< one of so many at the end, where fewest are kept; 1: all are
  std::vector<SlowIteration> slowest = {};  ///< slowest first; empty: the logs tell
};

struct LoopView {
  std::vector<LoopGroup> groups;  ///< in the order of the locations; empty: no loop is marked
  run::Metric metric;
  std::vector<run::Metric> metrics;               ///< of the first loop; tables of all loops have these
  std::shared_ptr<const IterationSource> source;  ///< of the metric; null: profiles have it
  std::optional<analysis::CallPathMatch> callpath;
  std::string callpath_name;

  /// Null: the rank cannot be read (Experiment::damage()). One thread at a time.
  std::shared_ptr<const OpenLoop> open(const experiment::Experiment& experiment, const LoopPlace& of) const;

 private:
  mutable experiment::RankHandle last_;  ///< the rank that was read last: the locations of a rank follow each other
};

/// Throws UsageError when the requested loop, metric or call path does not exist; the message lists those that do.
LoopView view_loops(const Source& source, const Request& request, const analysis::CallTree& tree);
/// Throws UsageError when the tree has no such call path; the message lists similar names.
analysis::CallPathMatch match_or_refuse(const experiment::Experiment& experiment, const analysis::CallTree& tree,
                                        const std::string& wanted);
/// Throws UsageError when no loop is marked; the message says how to mark one. `tree`: of the run; null: not known.
void require_loops(const LoopView& view, const experiment::Experiment& experiment, const analysis::CallTree* tree);

run::IterationValue shown_value(const LoopView& view, const OpenLoop& loop);
/// The standard error of the shown value; null: it has none.
run::IterationValue shown_error(const LoopView& view, const OpenLoop& loop);
/// How well the value of a call path is known, as the number of a run::Known.
run::IterationValue shown_precision(const LoopView& view, const OpenLoop& loop);

/// "rank 3", or "rank 3 thread 1".
std::string name_of(const LoopPlace& of);
/// "2 ranks", or "2 threads" where some ranks have several.
std::string count_of(std::int64_t count, const LoopGroup& group);
/// The loop's name, its iterations and on how many ranks or threads it ran.
std::string about(const LoopGroup& group);
/// A value of an iteration, for people.
std::string human_value(std::string_view unit, double value);

/// The member `loops` of JSON documents.
Table loops_table(const Document& document);
/// The slowest iterations of a loop, slowest first. Reads the logs of experiments that do not keep them by themselves.
std::vector<SlowIteration> slowest_of(const Document& document, const LoopGroup& group);
/// The clusters of a location. `open`: the loop, if it was read already.
Table clusters_table(const Document& document, const LoopPlace& of, unsigned in,
                     std::shared_ptr<const OpenLoop> open = nullptr);

/// The view's metric as a graph over iterations and as a map of ranks and iterations.
Table chart_table(const Document& document, const LoopGroup& group);
/// The clusters, location by location.
std::vector<Table> cluster_text_tables(const Document& document, const LoopGroup& group);
/// What text shows of each loop.
std::vector<Table> loop_text_tables(const Document& document);

/// The tree of one iteration or of one cluster of iterations, in place of the run's. Throws UsageError when the loop is
/// ambiguous, or has no such iteration or cluster.
struct PartTree {
  analysis::CallTree tree;
  PartOfRun part;
  std::optional<std::int32_t> rank;  ///< the rank of a cluster
};
PartTree part_of_run(const Source& source, const Request& request, const LoopView& view);

}  // namespace refrain::report
