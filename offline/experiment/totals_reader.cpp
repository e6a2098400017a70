#include "offline/experiment/totals_reader.hpp"

#include <optional>

namespace refrain::experiment {

namespace {

class TotalsReader {
 public:
  TotalsReader(SectionReader& in, const Schema& schema, const ProfileDefinitions& definitions, const Rank& rank)
      : in_(in), schema_(schema), definitions_(definitions), rank_(rank), columns_(in, schema, definitions, rank) {}

  RankTotals read() {
    read_times();
    totals_ = read_total_count(in_);
    RankTotals read{{}, rank_.extra_metrics, {}};
    extra_metrics_ = read.asked_for = read_extra_metrics(in_, read.extra_metrics);
    width_ = read.extra_metrics.size();
    // A location has at least its fixed fields, the numbers of its losses and of its rows, and the totals.
    const std::size_t least = 16 + totals_ + times_.size() + 2 * extra_metrics_.size();
    for (std::size_t n = in_.count(least); n > 0; --n) {
      Location& location = read.locations.emplace_back();
      location.rank = rank_.rank;
      read_location_head(in_, schema_, location);
      read_sums(location.run.emplace());
      read_rows(*location.run);
    }
    in_.finish();
    return read;
  }

 private:
  void read_times() {
    times_.resize(in_.count(1));
    for (auto& own : times_) {
      const std::string_view name = in_.text();
      for (std::size_t i = 0; i < format::time_count; ++i)
        if (name == format::time_columns[i].name) own = i;
    }
    in_.check();
  }

  void read_sums(RunTotals& run) {
    read_unit_totals(in_, schema_, totals_, run.totals);
    for (const auto& own : times_) {
      const std::int64_t value = in_.signed_varint();
      if (own) run.times.*format::time_columns[*own].time = value;
    }
    for (auto* of : {&run.extra.totals, &run.extra_no_path}) {
      of->resize(width_);
      for (const std::size_t number : extra_metrics_) (*of)[number] = in_.signed_varint();
    }
  }

  void read_rows(RunTotals& run) {
    const std::size_t rows = in_.count(2);
    in_.check();
    run.paths.reserve(rows);
    std::uint64_t own_path = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      own_path = path_after(in_, own_path, row, rank_.paths.size());
      read_row(rank_.paths[own_path], run);
      in_.check();
    }
    sort_by_path(in_, run.paths);
    sort_by_path(in_, run.extra.values);
  }

  void read_row(std::uint32_t path, RunTotals& run) {
    const std::int64_t ticks = in_.signed_varint();
    run.paths.push_back({path, columns_.read(path, run.columns, run.extra), ticks});
    if (!extra_metrics_.empty() && format::has_extra_columns(definitions_.paths[path].kind))
      read_extra_row(path, run.extra);
  }

  /// Most rows have only zeros; such a row takes no memory.
  void read_extra_row(std::uint32_t path, ExtraValues& extra) {
    const bool has_row = !extra.values.empty() && extra.values.back().path == path;  // for metrics of later versions
    const std::size_t first = has_row ? extra.values.back().first : extra.columns.size();
    extra.columns.resize(first + width_);
    bool any = has_row;
    for (const std::size_t number : extra_metrics_) {
      const std::int64_t value = in_.signed_varint();
      extra.columns[first + number] += value;
      any |= value != 0;
    }
    if (!any) extra.columns.resize(first);
    else if (!has_row) extra.values.push_back({path, static_cast<std::uint32_t>(first)});
  }

  SectionReader& in_;
  const Schema& schema_;
  const ProfileDefinitions& definitions_;
  const Rank& rank_;
  ColumnsReader columns_;
  std::vector<std::optional<std::size_t>> times_;  ///< own index of each time in the file
  std::uint64_t totals_ = 0;
  std::vector<std::size_t> extra_metrics_;  ///< index of each metric of the section among those of the rank
  std::size_t width_ = 0;
};

}  // namespace

RankTotals read_totals(SectionReader& in, const Schema& schema, const ProfileDefinitions& definitions,
                       const Rank& rank) {
  return TotalsReader(in, schema, definitions, rank).read();
}

}  // namespace refrain::experiment
