#include "offline/experiment/schema.hpp"

#include <algorithm>
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

void read_location_head(SectionReader& in, const Schema& schema, LocationDefinition& location) {
  location.thread = narrow(in);
  location.os_thread_id = in.signed_varint();
  location.name = clean_text(in.text());
  location.begin = in.signed_varint();
  location.end = in.signed_varint();
  location.arena_bytes = in.signed_varint();
  location.losses.resize(format::loss_count);
  const std::size_t losses = in.count(1);
  in.check();
  if (losses != schema.losses.size()) in.refuse("not as many losses as the definitions have");
  for (const auto& own : schema.losses) {
    const std::int64_t count = in.signed_varint();
    if (own) location.losses[*own] = count;
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

std::vector<std::size_t> read_extra_metrics(SectionReader& in, ProfileDefinitions& profile) {
  std::vector<std::size_t> numbers;
  const std::size_t metrics = in.count(2);
  in.check();
  auto& all = profile.extra_metrics;
  for (std::size_t m = 0; m < metrics; ++m) {
    ExtraMetric metric{clean_text(in.text()), {}};
    metric.unit = clean_text(in.text());
    in.check();
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const ExtraMetric& one) { return one.name == metric.name; });
    numbers.push_back(static_cast<std::size_t>(at - all.begin()));
    if (at != all.end()) continue;
    if (all.size() == most_extra_metrics) in.refuse("more metrics than anybody asks for");
    all.push_back(std::move(metric));
  }
  return numbers;
}

}  // namespace refrain::experiment
