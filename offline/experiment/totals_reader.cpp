#include "offline/experiment/totals_reader.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace refrain::experiment {

namespace {

class TotalsReader {
 public:
  TotalsReader(SectionReader in, const Schema& schema, Profile& profile, const std::vector<std::uint32_t>& mapping)
      : in_(std::move(in)), schema_(schema), profile_(profile), mapping_(mapping) {}

  std::vector<LocationRun> read(std::int32_t rank) {
    read_times();
    totals_ = read_total_count(in_);
    extra_metrics_ = read_extra_metrics(in_, profile_);
    std::vector<LocationRun> runs;
    // The fixed fields of a location, the number of its losses and that of its rows, and the totals.
    const std::size_t least = 16 + totals_ + times_.size() + 2 * extra_metrics_.size();
    for (std::size_t n = in_.count(least); n > 0; --n) {
      LocationRun& run = runs.emplace_back();
      run.definition.rank = rank;
      read_location_head(in_, schema_, run.definition);
      read_sums(run.totals);
      read_rows(run.totals);
    }
    in_.finish();
    return runs;
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
      of->resize(profile_.extra_metrics.size());
      for (const std::size_t number : extra_metrics_) (*of)[number] = in_.signed_varint();
    }
  }

  void read_rows(RunTotals& run) {
    const std::size_t rows = in_.count(2);
    in_.check();
    std::uint64_t own_path = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::uint64_t step = in_.varint();
      in_.check();
      if (row > 0 && step == 0) in_.refuse("totals of a call path twice");
      if (step >= mapping_.size() - std::min<std::uint64_t>(own_path, mapping_.size()))
        in_.refuse("totals of a call path that is not there");
      own_path += step;
      read_row(mapping_[own_path], run);
      in_.check();
    }
    sort_by_path(run.paths);
    sort_by_path(run.extra.values);
  }

  void read_row(std::uint32_t path, RunTotals& run) {
    const NodeKind kind = profile_.paths[path].kind;
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max() - format::metric_count - most_extra_metrics;
    if (std::max(run.columns.size(), run.extra.columns.size()) > most) in_.refuse("more totals than can be numbered");
    const std::size_t first = run.columns.size();
    run.paths.push_back({path, static_cast<std::uint32_t>(first), in_.signed_varint()});
    run.columns.resize(first + format::columns_of(kind));
    for (const auto& own : schema_.columns[static_cast<std::size_t>(kind)]) {
      const std::int64_t value = in_.signed_varint();
      if (own) run.columns[first + *own] = value;
    }
    if (format::has_extra_columns(kind)) read_extra_row(path, run.extra);
  }

  /// A row with zeros only, as most are, takes no memory.
  void read_extra_row(std::uint32_t path, ExtraValues& extra) {
    const std::size_t first = extra.columns.size();
    extra.columns.resize(first + extra.totals.size());
    bool any = false;
    for (const std::size_t number : extra_metrics_) {
      extra.columns[first + number] = in_.signed_varint();
      any |= extra.columns[first + number] != 0;
    }
    if (any) extra.values.push_back({path, static_cast<std::uint32_t>(first)});
    else extra.columns.resize(first);
  }

  template <class Row>
  void sort_by_path(std::vector<Row>& rows) {
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.path < b.path; });
    for (std::size_t i = 1; i < rows.size(); ++i)
      if (rows[i].path == rows[i - 1].path) in_.refuse("two call paths of a rank are one in the job");
  }

  SectionReader in_;
  const Schema& schema_;
  Profile& profile_;
  const std::vector<std::uint32_t>& mapping_;
  std::vector<std::optional<std::size_t>> times_;  ///< own index of each time in the file
  std::uint64_t totals_ = 0;
  std::vector<std::size_t> extra_metrics_;  ///< of the rank's metrics in the profile
};

}  // namespace

std::vector<LocationRun> read_totals(SectionReader in, const Schema& schema, Profile& profile,
                                     const std::vector<std::uint32_t>& mapping, std::int32_t rank) {
  return TotalsReader(std::move(in), schema, profile, mapping).read(rank);
}

}  // namespace refrain::experiment
