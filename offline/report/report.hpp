#pragma once
/// The report of an experiment, as text for people or as JSON or CSV for programs.

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "offline/analysis/symbols.hpp"
#include "offline/experiment/reader.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

enum class Format : std::uint8_t { Text, Json, Csv };

inline constexpr double usual_min_share = 0.5;

struct Options {
  Format format = Format::Text;
  bool flat = false;                      ///< by function instead of by call path
  bool iterations = false;                ///< every iteration of the marked loops
  bool windows = false;                   ///< one-sided operations by window, origin and target
  bool clusters = false;                  ///< the clusters of iterations of every location
  std::optional<std::int64_t> iteration;  ///< the call tree of this iteration instead of the run's
  std::optional<std::int32_t> cluster;    ///< ... of this cluster of one rank
  std::string loop;                       ///< only this loop; empty: all
  std::optional<std::int32_t> thread;     ///< of loops: only threads of this number
  std::string metric = "wall";            ///< of iterations: what is drawn
  std::string callpath;             ///< ... of these call paths (offline/analysis/callpath_match.hpp); empty: of all
  bool callsites = false;           ///< call sites of one function kept apart, with module, file and line
  int callpath_depth = 0;           ///< 0: all
  std::vector<std::int32_t> ranks;  ///< empty: all
  std::optional<double> min_share;  ///< percent of the wall time below which text folds a call path
  std::function<void(std::size_t done, std::size_t all)> progress;  ///< of symbol resolution
};

/// The request does not fit the experiment, or itself.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws UsageError when something is asked for that the experiment does not have (a rank, a thread, a loop, a metric,
/// a call path, an iteration, a cluster), or when an option would change nothing in what is shown.
std::string render(const experiment::Experiment& experiment, const Options& options, const Terminal& terminal,
                   analysis::Symbolizer& symbolizer);

}  // namespace refrain::report
