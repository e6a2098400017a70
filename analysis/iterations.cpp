#include "analysis/iterations.hpp"

#include <algorithm>
#include <unordered_map>

#include "clustering/iteration_log_reader.hpp"

namespace refrain::analysis {
namespace {

/// From the label that an iteration was logged with to the cluster that holds it in the end.
class LabelResolver {
 public:
  explicit LabelResolver(const archive::Loop& loop) {
    for (std::size_t i = 0; i < loop.clusters.size(); ++i)
      cluster_[loop.clusters[i].label] = static_cast<std::int32_t>(i);
    // Backwards: what a label became is known before what became that label.
    for (std::size_t i = loop.merges.size(); i-- > 0;) {
      const auto [from, to] = loop.merges[i];
      if (const auto at = cluster_.find(to); at != cluster_.end()) cluster_[from] = at->second;
    }
  }
  std::int32_t operator()(std::uint32_t label) const {
    const auto at = cluster_.find(label);
    return at == cluster_.end() ? -1 : at->second;
  }

 private:
  std::unordered_map<std::uint32_t, std::int32_t> cluster_;
};

std::uint32_t little_endian_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(bytes[at + i]) << 8 * i;
  return value;
}

}  // namespace

int overall_index(const archive::Loop& loop, std::string_view name) {
  const auto at = std::find_if(loop.metrics.begin(), loop.metrics.end(), [&](const auto& m) { return m.name == name; });
  return at == loop.metrics.end() ? -1 : static_cast<int>(at - loop.metrics.begin());
}

std::int64_t for_each_iteration(
    const archive::Loop& loop,
    const std::function<void(std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row)>& take) {
  const LabelResolver cluster_of(loop);
  std::vector<clustering::OverallColumn> columns;
  for (const auto& metric : loop.metrics) columns.push_back({true, metric.precision});
  std::span<const std::byte> rest = loop.log;
  constexpr std::size_t size_at = 4, smallest_block = 24;
  std::int64_t count = 0;
  while (rest.size() >= smallest_block) {
    const std::size_t size = little_endian_at(rest, size_at);
    if (size < smallest_block || size > rest.size()) break;
    clustering::IterationLogReader block;
    if (!block.open(rest.first(size), columns)) break;
    clustering::Label label{};
    std::int64_t row[clustering::max_overall];
    while (block.next(label, row)) {
      take(count, cluster_of(static_cast<std::uint32_t>(label)), {row, columns.size()});
      ++count;
    }
    if (block.damaged()) break;
    rest = rest.subspan(size);
  }
  return count;
}

}  // namespace refrain::analysis
