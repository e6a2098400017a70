#include "offline/run/iterations.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "offline/experiment/iteration_frames_reader.hpp"
#include "offline/experiment/iteration_log_reader.hpp"

namespace refrain::run {
namespace {

std::string cost_of(const experiment::Loop& loop) { return "iterations of loop " + loop.name + " are missing"; }
std::string cost_of_merges(const experiment::Loop& loop) {
  return "some iterations of loop " + loop.name + " have no cluster";
}

/// Maps the label that an iteration was logged with to its final cluster. Takes two bytes per label; there is at most
/// one label per iteration.
class LabelResolver {
 public:
  explicit LabelResolver(const experiment::Loop& loop)
      // Labels are given in ascending order: much larger ones are damage.
      : most_labels_(2 * static_cast<std::uint64_t>(std::max<std::int64_t>(loop.iterations, 0)) + 65536) {
    for (std::size_t i = 0; i < std::min<std::size_t>(loop.clusters.size(), none); ++i)
      set(loop.clusters[i].label, static_cast<std::uint16_t>(i));
    const std::string cost = cost_of_merges(loop);
    // Backwards, so that the target of a merge is resolved before its source.
    for (std::size_t piece = loop.merges.size(); piece-- > 0;) {
      const auto merges = read_merges(loop.merges[piece], cost);
      for (std::size_t i = merges.size(); i-- > 0;)
        if (const std::int32_t cluster = (*this)(merges[i].second); cluster >= 0)
          set(merges[i].first, static_cast<std::uint16_t>(cluster));
    }
  }
  std::int32_t operator()(std::uint32_t label) const {
    return label < cluster_.size() && cluster_[label] != none ? cluster_[label] : -1;
  }

 private:
  static constexpr std::uint16_t none = 0xffff;
  void set(std::uint32_t label, std::uint16_t cluster) {
    if (label >= most_labels_) return;
    if (label >= cluster_.size()) {
      const std::size_t need = std::size_t{label} + 1, had = cluster_.capacity();
      if (need > had) cluster_.reserve(std::max(need, had + had / 4));  // doubling it would take more than it holds
      cluster_.resize(need, none);
    }
    cluster_[label] = cluster;
  }
  std::uint64_t most_labels_;
  std::vector<std::uint16_t> cluster_;
};

/// The final cluster of one label, without a table of all labels.
std::int32_t cluster_of_label(const experiment::Loop& loop, std::uint32_t label) {
  for (const experiment::FramePlace& piece : loop.merges)
    for (const auto& [from, to] : read_merges(piece, cost_of_merges(loop)))
      if (from == label) label = to;
  for (std::size_t i = 0; i < loop.clusters.size(); ++i)
    if (loop.clusters[i].label == label) return static_cast<std::int32_t>(i);
  return -1;
}

using format::log_format::first_at;
using format::log_format::size_at;
constexpr std::size_t smallest_block = format::log_format::header_bytes;
/// The vector of an iteration during which the location had no thread.
constexpr std::int64_t nothing[format::max_overall] = {};

std::vector<format::Precision> columns_of(const experiment::Loop& loop) {
  std::vector<format::Precision> columns;
  for (const auto& metric : loop.metrics) columns.push_back(metric.precision);
  return columns;
}

/// Opens the blocks of one piece of the log and calls `take(block)` with each until it returns false. False: `take`
/// returned false, or the piece is damaged.
template <class Take>
bool for_each_block(std::span<const std::byte> rest, const std::vector<format::Precision>& columns, Take take) {
  while (rest.size() >= smallest_block) {
    const std::size_t size = format::load_little_endian<std::uint32_t>(rest.data() + size_at);
    experiment::IterationLogReader block;
    if (size < smallest_block || size > rest.size() || !block.open(rest.first(size), columns)) return false;
    if (!take(block) || block.damaged()) return false;
    rest = rest.subspan(size);
  }
  return true;
}

/// Number of iterations without a thread according to the block; those beyond the loop's end are damage.
std::uint64_t absent_in(const experiment::IterationLogReader& block, const experiment::Loop& loop) {
  const auto end = static_cast<std::uint64_t>(std::max<std::int64_t>(loop.iterations, 0));
  return std::min(block.absent(), end - std::min(end, block.first()));
}

constexpr std::uint64_t impossible = std::uint64_t{1} << 62;  ///< no iteration has this number

/// Number of the first iteration of a piece of the log.
std::uint64_t first_of(const experiment::FramePlace& place) {
  const auto head = begin_of_frame(place, smallest_block);
  if (head.size() < smallest_block) return impossible;
  return format::load_little_endian<std::uint64_t>(head.data() + first_at);
}

}  // namespace

int overall_index(const experiment::Loop& loop, std::string_view name) {
  const auto at = std::find_if(loop.metrics.begin(), loop.metrics.end(), [&](const auto& m) { return m.name == name; });
  return at == loop.metrics.end() ? -1 : static_cast<int>(at - loop.metrics.begin());
}

std::int64_t for_each_iteration(const experiment::Loop& loop, const TakeIteration& take) {
  if (loop.log.empty()) return 0;
  const LabelResolver cluster_of(loop);
  const auto columns = columns_of(loop);
  const std::string cost = cost_of(loop);
  std::int64_t count = 0;
  std::uint64_t next = 0;
  for (const experiment::FramePlace& place : loop.log) {
    const auto piece = experiment::read_frame(place, cost);
    if (!piece) continue;
    const bool whole = for_each_block(*piece, columns, [&](experiment::IterationLogReader& block) {
      if (block.first() < next || block.first() >= impossible) return false;
      next = block.first();  // not the next one if iterations were lost
      for (const std::uint64_t end = next + absent_in(block, loop); next < end; ++count)
        take(static_cast<std::int64_t>(next++), -1, {nothing, columns.size()});
      format::Label label{};
      std::int64_t row[format::max_overall];
      for (; block.next(label, row); ++count)
        take(static_cast<std::int64_t>(next++), cluster_of(static_cast<std::uint32_t>(label)), {row, columns.size()});
      return true;
    });
    if (!whole) note_damage(place, "the log of iterations is not what it should be", cost);
  }
  return count;
}

bool with_iteration(const experiment::Loop& loop, std::int64_t iteration, const TakeIteration& take) {
  if (loop.log.empty() || iteration < 0) return false;
  const auto wanted = static_cast<std::uint64_t>(iteration);
  auto after = std::partition_point(loop.log.begin() + 1, loop.log.end(),
                                    [&](const experiment::FramePlace& place) { return first_of(place) <= wanted; });
  const auto columns = columns_of(loop);
  bool found = false;
  const auto piece = experiment::read_frame(*--after, cost_of(loop));
  for_each_block(piece ? *piece : std::vector<std::byte>{}, columns, [&](experiment::IterationLogReader& block) {
    if (block.first() > wanted) return false;
    if (wanted - block.first() < absent_in(block, loop)) {
      take(iteration, -1, {nothing, columns.size()});
      found = true;
      return false;
    }
    if (wanted - block.first() >= block.count()) return true;
    format::Label label{};
    std::int64_t row[format::max_overall];
    for (std::uint64_t i = block.first(); i <= wanted; ++i)
      if (!block.next(label, row)) return false;
    take(iteration, cluster_of_label(loop, static_cast<std::uint32_t>(label)), {row, columns.size()});
    found = true;
    return false;
  });
  if (found || iteration >= loop.iterations) return found;
  // Damage has misled the search; this pass reports it.
  for_each_iteration(loop, [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
    if (i != iteration || found) return;
    found = true;
    take(i, cluster, row);
  });
  return found;
}

}  // namespace refrain::run
