#include "offline/run/iterations.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "format/metrics.hpp"
#include "offline/experiment/iteration_frames_reader.hpp"
#include "offline/experiment/iteration_log_reader.hpp"

namespace refrain::run {
namespace {

std::string cost_of(const experiment::Loop& loop) { return "iterations of loop " + loop.name + " are missing"; }
std::string cost_of_merges(const experiment::Loop& loop) {
  return "some iterations of loop " + loop.name + " have no cluster";
}

/// From the label that an iteration was logged with to the cluster that holds it in the end: two bytes a label, of
/// which there is at most one an iteration.
class LabelResolver {
 public:
  explicit LabelResolver(const experiment::Loop& loop)
      // Labels are given in ascending order: much larger ones are damage.
      : most_labels_(2 * static_cast<std::uint64_t>(std::max<std::int64_t>(loop.iterations, 0)) + 65536) {
    for (std::size_t i = 0; i < std::min<std::size_t>(loop.clusters.size(), none); ++i)
      set(loop.clusters[i].label, static_cast<std::uint16_t>(i));
    const std::string cost = cost_of_merges(loop);
    // Backwards: what a label became is known before what became that label.
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

/// The same for one label, without a table of all.
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

std::vector<format::Precision> columns_of(const experiment::Loop& loop) {
  std::vector<format::Precision> columns;
  for (const auto& metric : loop.metrics) columns.push_back(metric.precision);
  return columns;
}

/// As many of `count` iterations from `first` on as the loop has: those beyond its end are damage.
std::uint64_t within(const experiment::Loop& loop, std::uint64_t first, std::uint64_t count) {
  const auto end = static_cast<std::uint64_t>(std::max<std::int64_t>(loop.iterations, 0));
  return std::min(count, end - std::min(end, first));
}

constexpr std::uint64_t impossible = std::uint64_t{1} << 62;  ///< number of an iteration

/// Number of the first iteration of a piece of the log.
std::uint64_t first_of(const experiment::FramePlace& place) {
  const auto head = begin_of_frame(place, smallest_block);
  if (head.size() < smallest_block) return impossible;
  return format::load_little_endian<std::uint64_t>(head.data() + first_at);
}

/// The records of a log, one after the other; one piece is held at a time. Damage is noted.
class Records {
 public:
  Records(const experiment::Loop& loop, const std::vector<experiment::FramePlace>& log, std::size_t first_piece = 0)
      : loop_(loop), log_(log), columns_(columns_of(loop)), cost_(cost_of(loop)), piece_(first_piece) {}

  /// False: there is no more.
  bool next() {
    for (first_ += count_, count_ = 0;;) {
      if (block_is_open_ && block_.next(label_, row_)) {
        label_is_known_ = true;
        count_ = block_.iterations() > 1 ? within(loop_, first_, block_.iterations()) : 1;
        if (count_ > 0) return true;
        continue;
      }
      if (block_is_open_ && block_.damaged()) {
        note();
        rest_ = {};
      }
      block_is_open_ = false;
      if (rest_.size() < smallest_block) {
        if (!next_piece()) return false;
        continue;
      }
      if (!open_block()) {
        note();
        rest_ = {};
      } else if ((count_ = within(loop_, first_, block_.absent())) > 0) {
        label_is_known_ = false;
        std::fill_n(row_, columns_.size(), 0);
        return true;
      }
    }
  }

  /// The iterations that the record stands for; more than one: the location had no thread, or has passed them, or the
  /// vector is their mean.
  std::uint64_t first() const { return first_; }
  std::uint64_t count() const { return count_; }
  const format::PassedIterations* passed() const { return label_is_known_ ? block_.passed() : nullptr; }
  /// None: the location had no thread.
  std::optional<std::uint32_t> label() const {
    return label_is_known_ ? std::optional(static_cast<std::uint32_t>(label_)) : std::nullopt;
  }
  std::span<std::int64_t> row() { return {row_, columns_.size()}; }

 private:
  bool next_piece() {
    std::optional<std::vector<std::byte>> piece;
    while (piece_ < log_.size() && !piece) piece = experiment::read_frame(log_[piece_++], cost_);
    if (!piece) return false;
    bytes_ = std::move(*piece);
    rest_ = bytes_;
    return true;
  }
  bool open_block() {
    const std::size_t size = format::load_little_endian<std::uint32_t>(rest_.data() + size_at);
    if (size < smallest_block || size > rest_.size() || !block_.open(rest_.first(size), columns_)) return false;
    if (block_.first() < first_ || block_.first() >= impossible) return false;
    first_ = block_.first();  // after iterations that were lost it is not the next one
    rest_ = rest_.subspan(size);
    return block_is_open_ = true;
  }
  void note() { note_damage(log_[piece_ - 1], "the log of iterations is not what it should be", cost_); }

  const experiment::Loop& loop_;
  const std::vector<experiment::FramePlace>& log_;
  const std::vector<format::Precision> columns_;
  const std::string cost_;
  std::size_t piece_;  ///< the next one
  std::vector<std::byte> bytes_;
  std::span<const std::byte> rest_;  ///< of the piece, behind the block
  experiment::IterationLogReader block_;
  bool block_is_open_ = false, label_is_known_ = false;
  std::uint64_t first_ = 0, count_ = 0;
  format::Label label_{};
  std::int64_t row_[format::max_overall];
};

/// The piece of a log that has the iteration, if any has.
std::size_t piece_with(const std::vector<experiment::FramePlace>& log, std::uint64_t iteration) {
  const auto after = std::partition_point(
      log.begin() + 1, log.end(), [&](const experiment::FramePlace& place) { return first_of(place) <= iteration; });
  return static_cast<std::size_t>(after - log.begin()) - 1;
}

/// The vectors of iterations that a thread has passed: as long as those of the first thread, where its log has them.
class PassedRows {
 public:
  explicit PassedRows(const experiment::Loop& loop) : loop_(loop) {
    const auto place = [&](format::MetricId metric) { return overall_index(loop, format::row_of(metric).total_name); };
    wall_ = place(format::MetricId::Wall);
    mpi_ = place(format::MetricId::Time);
    cpu_ = place(format::MetricId::Cpu);
    off_in_call_ = place(format::MetricId::OffCpuMpi);
    off_else_ = place(format::MetricId::WaitedForCore);
  }

  /// Of an iteration not before that of the last call.
  void fill(std::uint64_t iteration, const format::PassedIterations& passed, std::span<std::int64_t> row) {
    std::ranges::fill(row, 0);
    const auto count = static_cast<double>(passed.count), all = static_cast<double>(passed.wall);
    const std::int64_t wall = wall_of_first(iteration).value_or(static_cast<std::int64_t>(all / count));
    const double share = passed.wall > 0 ? static_cast<double>(wall) / all : 1 / count;
    const auto set = [&](int column, std::int64_t value) {
      if (column >= 0) row[static_cast<std::size_t>(column)] = value;
    };
    set(wall_, wall);
    set(cpu_, static_cast<std::int64_t>(static_cast<double>(passed.cpu_ns) * share));
    set(passed.in_call ? off_in_call_ : off_else_,
        static_cast<std::int64_t>(static_cast<double>(passed.off_ns) * share));
    if (passed.in_call) set(mpi_, wall);
  }

 private:
  std::optional<std::int64_t> wall_of_first(std::uint64_t iteration) {
    const auto& log = loop_.of_first_thread;
    if (log.empty() || wall_ < 0) return std::nullopt;
    if (!first_) {
      first_.emplace(loop_, log, piece_with(log, iteration));
      has_row_ = first_->next();
    }
    while (has_row_ && first_->first() + first_->count() <= iteration) has_row_ = first_->next();
    if (!has_row_ || first_->first() > iteration || first_->passed()) return std::nullopt;
    return first_->row()[static_cast<std::size_t>(wall_)];
  }

  const experiment::Loop& loop_;
  int wall_, mpi_, cpu_, off_in_call_, off_else_;
  std::optional<Records> first_;  ///< of the first thread
  bool has_row_ = false;
};

}  // namespace

int overall_index(const experiment::Loop& loop, std::string_view name) {
  const auto at = std::find_if(loop.metrics.begin(), loop.metrics.end(), [&](const auto& m) { return m.name == name; });
  return at == loop.metrics.end() ? -1 : static_cast<int>(at - loop.metrics.begin());
}

std::int64_t for_each_iteration(const experiment::Loop& loop, const TakeIteration& take) {
  if (loop.log.empty()) return 0;
  const LabelResolver cluster_of(loop);
  PassedRows passed_rows(loop);
  std::uint64_t count = 0;
  for (Records records(loop, loop.log); records.next(); count += records.count()) {
    const std::int32_t cluster = records.label() ? cluster_of(*records.label()) : -1;
    for (std::uint64_t i = records.first(), end = i + records.count(); i < end; ++i) {
      if (const auto* passed = records.passed()) passed_rows.fill(i, *passed, records.row());
      take(static_cast<std::int64_t>(i), cluster, records.row());
    }
  }
  return static_cast<std::int64_t>(count);
}

bool with_iteration(const experiment::Loop& loop, std::int64_t iteration, const TakeIteration& take) {
  if (loop.log.empty() || iteration < 0) return false;
  const auto wanted = static_cast<std::uint64_t>(iteration);
  // Where damage has misled the search, the iteration is looked for from the first piece on.
  const std::size_t begin = piece_with(loop.log, wanted);
  for (const std::size_t from : {begin, std::size_t{0}}) {
    Records records(loop, loop.log, from);
    while (records.next() && records.first() <= wanted) {
      if (wanted - records.first() >= records.count()) continue;
      if (const auto* passed = records.passed()) PassedRows(loop).fill(wanted, *passed, records.row());
      take(iteration, records.label() ? cluster_of_label(loop, *records.label()) : -1, records.row());
      return true;
    }
    if (from == 0 || iteration >= loop.iterations) break;
  }
  return false;
}

}  // namespace refrain::run
