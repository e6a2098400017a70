#include "offline/report/pattern_iterations.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <unordered_map>

#include "offline/patterns/iteration_severities.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

using patterns::IterationSeverities;

class PatternIterations final : public IterationSource {
 public:
  explicit PatternIterations(IterationSeverities found) : found_(std::move(found)) {}

  run::Known known() const override { return run::Known::Exact; }
  std::string origin(double share) const override {
    if (share >= 1) return "As the events of each iteration say.";
    return fmt::format("As the events of {} % of the iterations say; of the rest events were not kept.",
                       percent(share, 1));
  }
  std::string why_none() const override {
    return "of no iteration of this loop the events tell of all calls that may have waited";
  }
  run::IterationValue of(const run::IterationProfiles& profiles, std::int32_t thread,
                         const run::PathSelection* selection) const override {
    const auto is_meant = [&](std::uint32_t path) {
      return !selection || (path < selection->paths.size() && selection->paths[path]);
    };
    std::unordered_map<std::int64_t, double> seconds;
    for (const IterationSeverities::OfLoop& of : found_.loops) {
      if (of.rank != profiles.rank().rank || of.thread != thread || of.loop != profiles.loop().name) continue;
      for (const std::int64_t iteration : of.kept) seconds[iteration] = 0;
      for (const IterationSeverities::Row& row : of.rows)
        if (is_meant(row.path)) seconds[row.iteration] += static_cast<double>(row.ns) / 1e9;
    }
    return [seconds = std::move(seconds)](std::int64_t iteration, auto...) {
      const auto at = seconds.find(iteration);
      return at == seconds.end() ? NAN : at->second;
    };
  }

 private:
  IterationSeverities found_;
};

}  // namespace

std::shared_ptr<const IterationSource> search_iterations(
    const std::shared_ptr<const experiment::Experiment>& experiment, const std::string& pattern) {
  const std::vector<std::string> names = patterns::iteration_pattern_names();
  if (std::ranges::find(names, pattern) == names.end()) return nullptr;
  const auto trace = trace::Trace::open(experiment);
  if (!trace) throw UsageError(fmt::format("--metric {}: the experiment has no events, which tell this", pattern));
  return search_iterations(*trace, std::span(&pattern, 1))[0];
}

std::vector<std::shared_ptr<const IterationSource>> search_iterations(const trace::Trace& trace,
                                                                      std::span<const std::string> patterns) {
  std::vector<std::shared_ptr<const IterationSource>> sources;
  for (IterationSeverities& found : patterns::severities_of_iterations(trace, patterns))
    sources.push_back(std::make_shared<PatternIterations>(std::move(found)));
  return sources;
}

}  // namespace refrain::report
