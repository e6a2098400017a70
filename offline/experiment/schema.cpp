#include "offline/experiment/schema.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "offline/experiment/clean_text.hpp"

namespace refrain::experiment {

std::int32_t narrow(SectionReader& in) {
  const std::int64_t value = in.signed_varint();
  if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max()) in.fail();
  return in.failed() ? 0 : static_cast<std::int32_t>(value);
}

double finite(SectionReader& in) {
  const double value = in.real();
  if (!std::isfinite(value)) in.refuse("a number that is none");
  return value;
}

std::uint64_t path_after(SectionReader& in, std::uint64_t before, std::size_t row, std::size_t paths) {
  const std::uint64_t step = in.varint();
  in.check();
  if (row > 0 && step == 0) in.refuse("a call path twice in one unit");
  if (step >= paths - std::min<std::uint64_t>(before, paths)) in.refuse("values of a call path that is not there");
  return before + step;
}

template <class Row>
void sort_by_path(SectionReader& in, std::vector<Row>& rows) {
  std::ranges::sort(rows, {}, &Row::path);
  if (std::ranges::adjacent_find(rows, {}, &Row::path) != rows.end())
    in.refuse("two call paths of a rank are one in the job");
}
template void sort_by_path(SectionReader&, std::vector<PathValues>&);
template void sort_by_path(SectionReader&, std::vector<PathTotals>&);

void read_location_head(SectionReader& in, const Schema& schema, LocationDefinition& location) {
  location.thread = narrow(in);
  location.os_thread_id = in.signed_varint();
  location.name = clean_text(in.name(NameKind::Thread));
  location.begin = in.signed_varint();
  location.end = in.signed_varint();
  location.arena_bytes = in.signed_varint();
  location.losses.resize(format::loss_count);
  const std::size_t losses = in.count(1);
  in.check();
  if (schema.losses_known && losses != schema.losses.size()) in.refuse("not as many losses as the definitions have");
  for (std::size_t i = 0; i < losses; ++i) {
    const std::int64_t count = in.signed_varint();
    if (schema.losses_known && schema.losses[i]) location.losses[*schema.losses[i]] = count;
  }
}

std::uint64_t read_total_count(SectionReader& in) {
  const std::uint64_t count = in.varint();
  in.check();
  if (count > most_totals) in.refuse("more totals of a unit than any version has");
  return count;
}

void read_unit_totals(SectionReader& in, const Schema& schema, std::uint64_t count, format::UnitTotals& totals) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::int64_t value = in.signed_varint();
    if (i < schema.totals.size() && schema.totals[i]) totals.*format::total_columns[*schema.totals[i]].total = value;
  }
  totals.weight_user_squared = finite(in);
}

std::vector<std::size_t> read_extra_metrics(SectionReader& in, std::vector<ExtraMetric>& all) {
  std::vector<std::size_t> numbers;
  const std::size_t metrics = in.count(2);
  in.check();
  for (std::size_t m = 0; m < metrics; ++m) {
    ExtraMetric metric{clean_text(in.name(NameKind::Metric)), {}};
    metric.unit = clean_text(in.text());
    in.check();
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const ExtraMetric& one) { return one.name == metric.name; });
    numbers.push_back(static_cast<std::size_t>(at - all.begin()));
    if (at != all.end()) continue;
    if (all.size() == max_extra_metrics) in.refuse("more metrics than any version has");
    all.push_back(std::move(metric));
  }
  return numbers;
}

namespace {

constexpr auto columns_of_kind = [] {
  std::array<std::size_t, node_kinds> columns{};
  for (std::size_t kind = 0; kind < node_kinds; ++kind) columns[kind] = format::columns_of(static_cast<NodeKind>(kind));
  return columns;
}();

}  // namespace

ColumnsReader::ColumnsReader(SectionReader& in, const Schema& schema, const ProfileDefinitions& definitions,
                             const Rank& rank)
    : in_(in), schema_(schema), definitions_(definitions), later_(schema.later.size()) {
  for (const ExtraMetric& metric : schema.later)
    later_unit_.push_back(metric.unit == "ticks" ? 1e9 / rank.ticks_per_second : 1);
}

std::uint32_t ColumnsReader::read(std::uint32_t path, std::vector<std::int64_t>& columns, ExtraValues& extra) {
  const NodeKind kind = definitions_.paths[path].kind;
  const std::size_t first = columns.size();
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max() - format::metric_count - max_extra_metrics;
  if (std::max(first, extra.columns.size()) > most) in_.refuse("more values than can be numbered");
  columns.resize(first + columns_of_kind[static_cast<std::size_t>(kind)]);
  std::ranges::fill(later_, 0);
  bool any = false;
  std::int64_t* const of_path = columns.data() + first;
  for (const auto [own, later] : schema_.columns[static_cast<std::size_t>(kind)]) {
    const std::int64_t value = in_.signed_varint();
    if (own >= 0) of_path[own] = value;
    else if (later >= 0) any |= (later_[static_cast<std::size_t>(later)] = value) != 0;
  }
  if (!any) return static_cast<std::uint32_t>(first);
  if (extra.totals.size() < later_.size()) extra.totals.resize(later_.size());
  extra.values.push_back({path, static_cast<std::uint32_t>(extra.columns.size())});
  for (std::size_t m = 0; m < extra.totals.size(); ++m) {
    double value = m < later_.size() ? static_cast<double>(later_[m]) * later_unit_[m] : 0;
    extra.columns.push_back(m < later_.size() && later_unit_[m] == 1
                                ? later_[m]
                                : static_cast<std::int64_t>(std::clamp(value, -9e18, 9e18)));
    if (__builtin_add_overflow(extra.totals[m], extra.columns.back(), &extra.totals[m]))
      in_.refuse("values beyond all numbers");
  }
  return static_cast<std::uint32_t>(first);
}

}  // namespace refrain::experiment
