#include "offline/run/iterations.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "format/kept_iterations.hpp"
#include "offline/experiment/iteration_frames_reader.hpp"
#include "offline/experiment/iteration_log_reader.hpp"
#include "offline/run/loop_columns.hpp"

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
      if (loop.clusters[i].label != static_cast<std::uint32_t>(format::passed_label))  // as PassedRows does
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
constexpr std::uint64_t impossible = std::uint64_t{1} << 62;  ///< no iteration has this number

/// Number of the first iteration of a piece of the log.
std::uint64_t first_of(const experiment::FramePlace& place) {
  const auto head = begin_of_frame(place, smallest_block);
  if (head.size() < smallest_block) return impossible;
  return format::load_little_endian<std::uint64_t>(head.data() + first_at);
}

/// The piece of a log that has an iteration, if any has.
std::size_t piece_of(const std::vector<experiment::FramePlace>& log, std::uint64_t iteration) {
  const auto after = std::partition_point(
      log.begin(), log.end(), [&](const experiment::FramePlace& place) { return first_of(place) <= iteration; });
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - log.begin() - 1, 0));
}

/// One iteration of a log.
struct Logged {
  std::uint64_t number = 0;
  std::optional<format::Run> run;  ///< none: it has a vector
  format::Label label{};
  const std::int64_t* row = nullptr;
  /// It is not kept: the row is the mean of its group's iterations that are not, and the label is another one's.
  bool is_mean = false;
};

/// Reads a log iteration by iteration, with one piece in memory at a time. A group that one iteration is kept of has
/// the mean of the others for each of these, and the label of the one that is kept.
class LogCursor {
 public:
  /// `iterations`: of the loop that the log belongs to. `from`: blocks that end before this iteration are passed over,
  /// as are `pieces` pieces at the begin, and iterations of runs before it.
  LogCursor(const experiment::Loop& loop, const std::vector<experiment::FramePlace>& log, std::int64_t iterations,
            std::uint64_t from = 0, std::size_t pieces = 0)
      : loop_(loop), log_(log), from_(from), cost_(cost_of(loop)), piece_(pieces) {
    for (const auto& metric : loop.metrics) columns_.push_back(metric.precision);
    end_ = static_cast<std::uint64_t>(std::max<std::int64_t>(iterations, 0));
  }

  /// False: there are no more.
  bool next(Logged& of) {
    while (left_ == 0)
      if (!next_item()) return false;
    of.number = number_++;
    of.run = item_.run;
    of.label = item_.label;
    const bool is_of_group = !item_.run && level_ > 0;
    of.is_mean = is_of_group && of.number != kept_;
    of.row = of.is_mean ? mean_of_others() : item_.row;
    // If the thread did not exist in the kept iteration, the label is that of another one.
    if (is_of_group && !of.is_mean && has_no_values()) of.run = format::Run::Absent;
    --left_;
    return true;
  }

  /// How many iterations have the vector of the last one that was read.
  std::uint64_t sharing() const { return item_.run || level_ == 0 || number_ - 1 == kept_ ? 1 : others_; }

 private:
  bool next_item() {
    for (;;) {
      if (in_block_) {
        if (block_.next(item_)) {
          begin_item();
          if (left_ > 0) return true;
          continue;
        }
        if (block_.damaged()) damaged();
        in_block_ = false;
      }
      if (rest_.size() >= smallest_block) next_block();
      else if (!next_piece()) return false;
    }
  }

  bool next_piece() {
    while (piece_ < log_.size()) {
      auto piece = experiment::read_frame(log_[piece_++], cost_);
      if (!piece) continue;
      contents_ = std::move(*piece);
      rest_ = contents_;
      return true;
    }
    return false;
  }

  void next_block() {
    const std::size_t size = format::load_little_endian<std::uint32_t>(rest_.data() + size_at);
    if (size < smallest_block || size > rest_.size() || !block_.open(rest_.first(size), columns_) ||
        block_.first() < number_ || block_.first() >= impossible)
      return damaged();
    rest_ = rest_.subspan(size);
    if (block_.covered() <= from_ - std::min(from_, block_.first())) return;
    number_ = block_.first();  // not the next one if iterations were lost
    level_ = block_.level();
    in_block_ = true;
  }

  void begin_item() {
    left_ = item_.count;
    if (!item_.run && level_ == 0) return;
    // What a damaged file says beyond the loop's end is left out, and the last group may not be complete.
    left_ = std::min(left_, end_ - std::min(end_, number_));
    if (item_.run) {
      const std::uint64_t before = std::min(left_, from_ - std::min(from_, number_));
      number_ += before;
      left_ -= before;
    }
    if (item_.run || left_ == 0) return;
    kept_ = format::KeptIterations{level_}.in_block(number_ >> level_);
    others_ = left_ - (kept_ >= number_ && kept_ < number_ + left_);
    other_ = 0;
  }

  /// Integers that add up to the sums over the others of the group.
  const std::int64_t* mean_of_others() {
    const auto n = static_cast<std::int64_t>(others_);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::int64_t sum = item_.others[c];
      std::int64_t low = sum / n;
      low -= sum % n < 0;
      mean_[c] = low + (static_cast<std::int64_t>(other_) < sum - low * n);
    }
    ++other_;
    return mean_;
  }

  bool has_no_values() const {
    return std::ranges::all_of(std::span(item_.row, columns_.size()), [](std::int64_t value) { return value == 0; });
  }

  void damaged() {
    note_damage(log_[piece_ - 1], "the log of iterations is not what it should be", cost_);
    rest_ = {};
  }

  const experiment::Loop& loop_;
  const std::vector<experiment::FramePlace>& log_;
  const std::uint64_t from_;
  const std::string cost_;
  std::vector<format::Precision> columns_;
  std::uint64_t end_ = 0;
  std::size_t piece_ = 0;
  std::vector<std::byte> contents_;
  std::span<const std::byte> rest_;
  experiment::IterationLogReader block_;
  bool in_block_ = false;
  unsigned level_ = 0;
  experiment::LoggedItem item_{};
  std::uint64_t number_ = 0, left_ = 0;              ///< of the next iteration; of the item
  std::uint64_t kept_ = 0, others_ = 0, other_ = 0;  ///< of the group
  std::int64_t mean_[format::max_overall] = {};
};

/// The vectors of iterations in which a thread recorded nothing. Their wall time is that of the first thread; their
/// other times are shared in proportion to it.
class PassedRows {
 public:
  explicit PassedRows(const experiment::Loop& loop, std::uint64_t from = 0) : loop_(loop), columns_(loop), from_(from) {
    for (std::size_t i = 0; i < loop.clusters.size(); ++i)
      if (loop.clusters[i].label == static_cast<std::uint32_t>(format::passed_label))
        cluster_ = static_cast<std::int32_t>(i);
  }
  std::int32_t cluster() const { return cluster_; }

  std::span<const std::int64_t> of(std::uint64_t iteration, bool in_call) {
    using format::MetricId;
    const experiment::PassedSum& sum = loop_.passed[in_call];
    const std::int64_t wall = wall_of(iteration, sum);
    const auto share = [&](std::int64_t all) {
      return sum.wall <= 0 ? 0
                           : static_cast<std::int64_t>(static_cast<double>(all) *
                                                       (static_cast<double>(wall) / static_cast<double>(sum.wall)));
    };
    std::ranges::fill(row_, 0);
    set(MetricId::Wall, wall);
    set(MetricId::Cpu, share(sum.cpu_ns));
    set(in_call ? MetricId::OffCpuMpi : MetricId::WaitedForCore, share(sum.off_ns));
    if (in_call) set(MetricId::Time, wall);
    return {row_, loop_.metrics.size()};
  }

 private:
  void set(format::MetricId metric, std::int64_t value) {
    if (const int column = columns_[metric]; column >= 0) row_[column] = value;
  }

  /// Of the first thread. Where its log is damaged, the mean.
  std::int64_t wall_of(std::uint64_t iteration, const experiment::PassedSum& sum) {
    const int column = columns_[format::MetricId::Wall];
    if (loop_.first_log && !walls_)
      walls_.emplace(loop_, *loop_.first_log, loop_.first_iterations, iteration,
                     from_ > 0 ? piece_of(*loop_.first_log, iteration) : 0);
    while (walls_ && there_is_more_ && (!known_ || first_.number < iteration))
      known_ = there_is_more_ = walls_->next(first_);
    if (known_ && column >= 0 && first_.number == iteration && !first_.run) return first_.row[column];
    return sum.count > 0 ? sum.wall / sum.count : 0;
  }

  const experiment::Loop& loop_;
  const LoopColumns columns_;
  const std::uint64_t from_;
  std::int32_t cluster_ = -1;
  std::optional<LogCursor> walls_;
  Logged first_;
  bool known_ = false, there_is_more_ = true;
  std::int64_t row_[format::max_overall] = {};
};

/// The vector of an iteration during which the location had no thread.
constexpr std::int64_t nothing[format::max_overall] = {};

/// Calls `take` as for_each_iteration() does.
template <class ClusterOf>
void take_logged(const Logged& of, const experiment::Loop& loop, PassedRows& passed, const ClusterOf& cluster_of,
                 const TakeIteration& take) {
  const auto number = static_cast<std::int64_t>(of.number);
  if (of.run == format::Run::Absent) return take(number, -1, {nothing, loop.metrics.size()});
  if (of.run) return take(number, passed.cluster(), passed.of(of.number, of.run == format::Run::PassedInCall));
  std::int32_t cluster =
      of.label == format::passed_label ? passed.cluster() : cluster_of(static_cast<std::uint32_t>(of.label));
  // A cluster of one iteration has no others: its values are exactly those of that iteration.
  if (of.is_mean && cluster >= 0 && loop.clusters[static_cast<std::size_t>(cluster)].members == 1) cluster = -1;
  take(number, cluster, {of.row, loop.metrics.size()});
}

}  // namespace

int overall_index(const experiment::Loop& loop, std::string_view name) {
  const auto at = std::find_if(loop.metrics.begin(), loop.metrics.end(), [&](const auto& m) { return m.name == name; });
  return at == loop.metrics.end() ? -1 : static_cast<int>(at - loop.metrics.begin());
}

std::int64_t for_each_iteration(const experiment::Loop& loop, const TakeIteration& take) {
  if (loop.log.empty()) return 0;
  const LabelResolver cluster_of(loop);
  PassedRows passed(loop);
  LogCursor log(loop, loop.log, loop.iterations);
  std::int64_t count = 0;
  for (Logged of; log.next(of); ++count) take_logged(of, loop, passed, cluster_of, take);
  return count;
}

bool with_iteration(const experiment::Loop& loop, std::int64_t iteration, const TakeIteration& take) {
  if (loop.log.empty() || iteration < 0) return false;
  const auto wanted = static_cast<std::uint64_t>(iteration);
  const std::size_t piece = piece_of(loop.log, wanted);
  bool found = false;
  {
    const std::vector<experiment::FramePlace> only{loop.log[piece]};
    PassedRows passed(loop, wanted);
    LogCursor log(loop, only, loop.iterations, wanted);
    for (Logged of; !found && log.next(of) && of.number <= wanted;) {
      if (of.number < wanted) continue;
      found = true;
      take_logged(
          of, loop, passed, [&](std::uint32_t label) { return cluster_of_label(loop, label); }, take);
    }
  }
  if (found || iteration >= loop.iterations) return found;
  // Damage has misled the search; this pass reports it.
  for_each_iteration(loop, [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
    if (i != iteration || found) return;
    found = true;
    take(i, cluster, row);
  });
  return found;
}

std::int64_t sharing_vector(const experiment::Loop& loop, std::int64_t iteration) {
  if (loop.thinning.level == 0 || iteration < loop.thinning.from || loop.log.empty()) return 1;
  const auto wanted = static_cast<std::uint64_t>(iteration);
  const std::vector<experiment::FramePlace> only{loop.log[piece_of(loop.log, wanted)]};
  LogCursor log(loop, only, loop.iterations, wanted);
  for (Logged of; log.next(of) && of.number <= wanted;)
    if (of.number == wanted) return static_cast<std::int64_t>(log.sharing());
  return 1;
}

}  // namespace refrain::run
