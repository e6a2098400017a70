#include "offline/explorer/pattern_sources.hpp"

#include <algorithm>
#include <functional>

#include "offline/patterns/iteration_severities.hpp"
#include "offline/report/pattern_iterations.hpp"

namespace refrain::explorer {
namespace {

/// Those that cost something, largest first.
std::vector<std::string> largest_patterns(const std::vector<experiment::SavedMetric>& metrics, std::size_t most) {
  const std::vector<std::string> known = patterns::iteration_pattern_names();
  std::vector<std::pair<double, std::string>> costs;
  for (const experiment::SavedMetric& metric : metrics) {
    if (std::ranges::find(known, metric.name) == known.end()) continue;
    double seconds = 0;
    for (const auto& of : metric.values) seconds += of.seconds;
    if (seconds > 0) costs.emplace_back(seconds, metric.name);
  }
  std::ranges::stable_sort(costs, std::greater<>{}, &std::pair<double, std::string>::first);
  if (costs.size() > most) costs.resize(most);
  std::vector<std::string> names;
  for (const auto& [seconds, name] : costs) names.push_back(name);
  return names;
}

}  // namespace

std::vector<PatternSource> pattern_sources(const std::shared_ptr<const experiment::Experiment>& experiment,
                                           const std::vector<experiment::SavedMetric>& found, std::size_t most,
                                           std::vector<Lack>& lacks) {
  constexpr std::uint64_t most_records = std::uint64_t{1} << 21;  // a few tenths of a second
  const std::vector<std::string> names = largest_patterns(found, most);
  const auto trace = names.empty() ? nullptr : trace::Trace::open(experiment);
  if (!trace) return {};
  if (trace->records() > most_records) {
    lacks.push_back({"iterations",
                     "Patterns of waiting are not in the file by iteration, there are too many events (refrain report "
                     "--iterations --metric NAME)."});
    return {};
  }
  std::vector<PatternSource> sources;
  std::size_t i = 0;
  for (auto& source : report::search_iterations(*trace, names)) sources.push_back({names[i++], std::move(source)});
  return sources;
}

}  // namespace refrain::explorer
