#pragma once
/// The loops that a report of iterations or clusters is about. They are found once; what a location has is read when it
/// is its turn, so no more than one rank is held.

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

/// A loop of all chosen ranks.
struct LoopGroup {
  std::string name;
  std::int64_t iterations = 0;  ///< of the location that has most
  std::vector<LoopPlace> locations;
  bool threads = false;  ///< some are not the first of their rank
  /// The slowest first, with the time of the location that took longest; none: they are not known.
  std::vector<run::SlowIteration> slowest = {};
  std::uint64_t whole_records = 0;  ///< of the logs (format::end_of_record)
};

struct LoopView {
  std::vector<LoopGroup> groups;  ///< in the order in which the locations have them; none: no loop is marked
  run::Metric metric;
  std::vector<run::Metric> metrics;               ///< of the first loop: what tables of all loops have
  std::shared_ptr<const IterationSource> source;  ///< of the metric; null: the profiles
  std::optional<analysis::CallPathMatch> callpath;
  std::string callpath_name;

  /// Null: the rank cannot be read (Experiment::damage()). One thread at a time.
  std::shared_ptr<const OpenLoop> open(const experiment::Experiment& experiment, const LoopPlace& of) const;

 private:
  mutable experiment::RankHandle last_;  ///< locations of a rank come one after the other
};

/// Throws UsageError when a loop, metric or call path is asked for that is not there, with those that are.
LoopView view_loops(const Source& source, const Request& request, const analysis::CallTree& tree);
/// Throws UsageError, with what is similar, when the tree has no such call path.
analysis::CallPathMatch match_or_refuse(const experiment::Experiment& experiment, const analysis::CallTree& tree,
                                        const std::string& wanted);
/// Throws UsageError when there is no loop at all, with what to do about it. `tree`: of the run; null: it is not known.
void require_loops(const LoopView& view, const experiment::Experiment& experiment, const analysis::CallTree* tree);

run::IterationValue shown_value(const LoopView& view, const OpenLoop& loop);
/// Its standard error; null: it has none.
run::IterationValue shown_error(const LoopView& view, const OpenLoop& loop);
/// How well the value of a call path is known: a number of run::Known.
run::IterationValue shown_precision(const LoopView& view, const OpenLoop& loop);

/// "rank 3", or "rank 3 thread 1".
std::string name_of(const LoopPlace& of);
/// "2 ranks", or "2 threads" where some ranks have several.
std::string count_of(std::int64_t count, const LoopGroup& group);
/// The loop's name, its iterations and on how many ranks or threads it ran.
std::string about(const LoopGroup& group);
/// Of iterations, as people read it.
std::string human_value(std::string_view unit, double value);

/// The member `loops` of JSON documents.
Table loops_table(const Document& document);
/// The columns of a location's clusters, and their rows. `open`: the loop, if it is read already.
Table clusters_table(const Document& document, const LoopPlace& of, unsigned in,
                     std::shared_ptr<const OpenLoop> open = nullptr);

/// The view's metric as a graph over the iterations, and as a map of ranks and iterations.
Table chart_table(const Document& document, const LoopGroup& group);
/// The clusters, location by location.
std::vector<Table> cluster_text_tables(const Document& document, const LoopGroup& group);
/// What a text shows of each loop.
std::vector<Table> loop_text_tables(const Document& document);

/// One iteration, or one cluster of iterations, instead of the run: the tree of it. Throws UsageError when the loop is
/// not clear or has no such iteration or cluster.
struct PartTree {
  analysis::CallTree tree;
  PartOfRun part;
  std::optional<std::int32_t> rank;  ///< of a cluster, which is of one
};
PartTree part_of_run(const Source& source, const Request& request, const LoopView& view);

}  // namespace refrain::report
