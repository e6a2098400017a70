#include "offline/explorer/told.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "offline/findings/sentence.hpp"

namespace refrain::explorer {
namespace {

/// Metrics of rules whose options do not name one.
constexpr std::pair<std::string_view, const char*> metric_of_rule[] = {
    {"late_rank", "user"}, {"polling", "mpi"}, {"small_messages", "mpi"}, {"measurement_cost", "refrain"}};

std::string metric_of(const findings::Finding& finding) {
  if (is_waiting(finding)) return "wait";
  for (const auto& [rule, metric] : metric_of_rule)
    if (finding.rule == rule) return metric;
  const std::vector<std::string> options = options_of(finding);
  const auto at = std::ranges::find(options, "--metric");
  return at == options.end() ? std::string() : at[1];
}

/// Nothing: all iterations of the loop, or single iterations far from each other.
std::optional<std::pair<std::int64_t, std::int64_t>> range_of(const findings::Iterations& of) {
  if (of.count == 1 && !of.numbers.empty()) return std::pair(of.numbers[0], of.numbers[0]);
  if (of.count > 0 || (of.first == 0 && of.last + 1 >= of.of)) return std::nullopt;
  return std::pair(of.first, of.last);
}

}  // namespace

Told told_of(const findings::Finding& finding,
             const std::function<std::optional<std::uint32_t>(const findings::Path& path)>& node_of,
             const std::function<bool(const std::string& name)>& is_loop) {
  Told told{.rule = finding.rule,
            .text = sentence_of(finding),
            .share = finding.share,
            .error = std::max(finding.error, 0.0),
            .metric = metric_of(finding),
            .ranks = (finding.ranks.empty() ? finding.cause.ranks : finding.ranks).ranges,
            .part_of = finding.part_of};
  const findings::Path& path = finding.paths.empty() ? finding.cause.path : finding.paths[0];
  if (!path.empty()) told.node = node_of(path);
  if (!finding.iterations || !is_loop(finding.iterations->loop)) return told;
  told.loop = finding.iterations->loop;
  told.iterations = range_of(*finding.iterations);
  return told;
}

}  // namespace refrain::explorer
