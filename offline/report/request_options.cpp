#include "offline/report/request_options.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/run/iteration_metrics.hpp"
#include "offline/run/metrics.hpp"

namespace refrain::report {
namespace {

/// Iterations, call paths of iterations, and locations have metrics of their own.
RequestOption metric_option() {
  std::vector<std::string> likely = run::iteration_metric_names();
  std::vector<std::string> of_callpaths;
  for (const auto& metric : run::callpath_metrics({})) of_callpaths.push_back(metric.name);
  const std::vector<std::string> of_locations = run::Metrics::names();
  constexpr const char* asked_for = "or one of REFRAIN_METRICS";
  std::string help = fmt::format(
      "With --iterations: {}, {} (default: wall); with --iterations --callpath: {}, {}; both also wait, or a pattern "
      "of waiting, late_sender, wait_at_nxn, and others, of iterations whose events were kept; with --locations: {}, "
      "{}, or a pattern that refrain analyze has found",
      fmt::join(likely, ", "), asked_for, fmt::join(of_callpaths, ", "), asked_for, fmt::join(of_locations, ", "),
      asked_for);
  for (const std::string& metric : of_locations)
    if (std::ranges::find(likely, metric) == likely.end()) likely.push_back(metric);
  likely.emplace_back("wait");
  return {.ask = Ask::Metric,
          .name = "--metric",
          .value = "NAME",
          .about = "of iterations and locations",
          .member = &Request::metric,
          .values = RequestOption::AnyName,
          .help = std::move(help),
          .likely = std::move(likely)};
}

std::vector<RequestOption> make_options() {
  using Of = RequestOption;
  constexpr const char *of_paths = "of call paths", *of_tables = "of tables";
  return {
      metric_option(),
      {Ask::Callpath, "--callpath", "NAMES", "of iterations and locations", &Request::callpath, Of::Name,
       "With --iterations or --locations: only below these functions, as in main/solve/MPI_Allreduce, or as a "
       "report prints them"},
      {Ask::Loop, "--loop", "NAME", "of marked loops", &Request::loop, Of::Name, "Only the marked loop of this name"},
      {Ask::Thread, "--thread", "N", "of threads", &Request::thread, Of::Ordinal,
       "Only the threads of this number; 0 is a rank's first"},
      {Ask::Iteration, "--iteration", "N", of_paths, &Request::iteration, Of::Ordinal,
       "The call tree of this iteration, counted from 0"},
      {Ask::Cluster, "--cluster", "K", of_paths, &Request::cluster, Of::Ordinal,
       "The call tree of this cluster of one rank (see --rank, --thread)"},
      {Ask::Sort, "--sort", "COLUMN", of_tables, &Request::sort, Of::Name,
       "Column that a table is sorted by, numbers from the largest one on; -COLUMN: the other way round"},
      {Ask::Limit, "--limit", "N", of_tables, &Request::limit, Of::Count, "Rows of a table"},
      {Ask::Columns, "--columns", "LIST", of_tables, &Request::columns, Of::List, "Columns of a table, in this order"},
      {Ask::Callsites, "--callsites", "", of_paths, &Request::callsites, Of::None,
       "Keep the call sites of one function apart, with module, file and line"},
      {Ask::CallpathDepth, "--callpath-depth", "N", of_paths, &Request::callpath_depth, Of::Range,
       "Frames to keep of each call path; MPI functions stay below the last one", 1, 1'000'000},
      {Ask::MinShare, "--min-share", "PERCENT", of_paths, &Request::min_share, Of::Range,
       fmt::format("Percent of the wall time below which the text folds a call path (default: {}, or more so that "
                   "the call tree fits on a screen)",
                   usual_min_share),
       0, 100},
      {Ask::Region, "--region", "NAME", "of efficiencies", &Request::region, Of::Name,
       "With --efficiency: this marked region or function instead of the loops"}};
}

/// At most nine digits, so that the value fits the numbers of iterations and clusters.
bool is_ordinal(const std::string& text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

std::span<const RequestOption> request_options() {
  static const std::vector<RequestOption> all = make_options();
  return all;
}

std::string wrong_as_name(const std::string& text) { return text.empty() ? "a name is missing" : std::string(); }

std::string wrong_as_number(const std::string& text, double least, double most) {
  double number = least - 1;
  const char* end = text.data() + text.size();
  const auto at = std::from_chars(text.data(), end, number);
  const bool is_good = at.ec == std::errc() && at.ptr == end && number >= least && number <= most;
  return is_good ? std::string() : fmt::format("{} is not a number from {} to {}", text, least, most);
}

bool RequestOption::is_given(const Request& request) const {
  return std::visit(
      [&](const auto of) {
        const auto& set = request.*of;
        if constexpr (requires { set.empty(); }) return !set.empty();
        else return static_cast<bool>(set);
      },
      member);
}

std::string RequestOption::wrong(const std::string& text) const {
  switch (values) {
    case Name: return wrong_as_name(text);
    case Ordinal: return is_ordinal(text) ? std::string() : text + ": a number, counted from 0";
    case Count: return is_ordinal(text) ? std::string() : text + ": a whole number, 0 or more";
    case Range: return wrong_as_number(text, least, most);
    case None:
    case AnyName:
    case List: break;
  }
  return {};
}

}  // namespace refrain::report
