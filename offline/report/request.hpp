#pragma once
/// A request for a report of an experiment. It is plain data: a run comes as a Source (report.hpp), the result is text.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "offline/analysis/module_fold.hpp"
#include "offline/report/table.hpp"

namespace refrain::report {

/// The views, each a row of view_table.cpp, in this order.
enum class Show : std::uint8_t {
  Findings,
  Iterations,
  Clusters,
  Windows,
  Events,
  Efficiency,
  Waits,
  Mpi,
  Modules,
  Callers,
  Source,
  Sizes,
  Communicators,
  Nodes,
  Locations,
  Functions,
  CallTree
};

inline constexpr double usual_min_share = 1;

/// The request does not fit the experiment, or its options do not go together.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Request {
  Format format = Format::Text;
  std::vector<Show> views;  ///< empty: the call tree
  std::string subject;      ///< name of the function or file that the view is about

  // The part of the run.
  std::vector<std::int32_t> ranks;  ///< in ascending order; empty: all
  /// (rank, thread), ascending: only these threads of these ranks.
  std::vector<std::pair<std::int32_t, std::int32_t>> threads_of_ranks;
  std::optional<std::int64_t> thread;     ///< only threads of this number
  std::optional<std::int64_t> iteration;  ///< the call tree of this iteration instead of the run's
  std::optional<std::int64_t> cluster;    ///< ... of this cluster of one rank
  std::string loop;                       ///< only this loop; empty: all

  // How call paths are told apart, and which are shown.
  bool callsites = false;                      ///< keep call sites of one function apart, with module, file and line
  std::optional<std::int64_t> callpath_depth;  ///< frames to keep; nullopt: all
  analysis::ModuleFold fold = {{}, true};
  std::optional<double> min_share;  ///< percent of the wall time below which text leaves a call path out

  std::string region;  ///< of efficiencies: a marked region or function to show; empty: the loops

  std::string metric;    ///< of iterations and locations; empty: the usual metrics
  std::string callpath;  ///< only in these call paths (offline/analysis/callpath_match.hpp); empty: in all

  // How a table is arranged.
  std::string sort;                   ///< a column; a minus in front reverses the order
  std::optional<std::int64_t> limit;  ///< maximum number of rows
  std::vector<std::string> columns;   ///< in this order; empty: all

  bool asks(Show view) const;
  /// Whether a requested view needs any of these (enum Need in views.hpp).
  bool needs(unsigned need) const;
  bool is_of_part() const { return iteration.has_value() || cluster.has_value(); }

  /// Whether the page without any option is requested, as text.
  bool is_first_page() const;
  bool needs_findings() const;
  /// Whether call sites of one function are told apart.
  bool has_callsites() const;
  /// Whether call paths have the names that they have without options.
  bool has_usual_names() const;
  /// Whether the call paths of the whole run are shown.
  bool shows_call_tree() const;
  bool needs_traffic() const;
  /// Whether a part of what is shown comes from a search.
  bool needs_search() const;

  bool chosen(std::int32_t rank) const;
  bool chosen(std::int32_t rank, std::int32_t thread_number) const;
  bool some_threads() const { return thread.has_value() || !threads_of_ranks.empty(); }
};

}  // namespace refrain::report
