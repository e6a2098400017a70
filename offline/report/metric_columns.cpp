#include "offline/report/metric_columns.hpp"

#include "offline/run/iteration_metrics.hpp"

namespace refrain::report {

Kind kind_of_unit(std::string_view unit) {
  const std::string_view shown = run::shown_unit(unit);
  return shown == "s" ? Kind::Seconds : shown == "B" ? Kind::Bytes : Kind::Count;
}

void add_count_columns(std::vector<Column>& columns) {
  for (const auto metric : run::counted_metrics) {
    const auto& row = format::row_of(metric);
    columns.push_back({row.name, kind_of_unit(row.unit)});
  }
}

void add_counts(Row& row, const analysis::Counts& counts) {
  for (const auto metric : run::counted_metrics) row.cells.emplace_back(counts[metric]);
}

void add_asked_for_columns(std::vector<Column>& columns, const analysis::CallTree& tree, unsigned in,
                           const std::vector<std::string>& group) {
  for (const auto& [name, unit, scale] : tree.extra_metrics)
    columns.push_back(
        {run::metric_of(name, unit).column(), scale == 1 ? kind_of_unit(unit) : Kind::Number, in, name, group});
}

double value_of(const experiment::ExtraMetric& metric, std::int64_t integer) {
  return static_cast<double>(integer) / (run::scale_of(metric.unit) * metric.scale);
}

void add_asked_for(Row& row, const analysis::CallTree& tree, const analysis::Counts& counts) {
  for (std::size_t m = 0; m < tree.extra_metrics.size(); ++m) {
    const experiment::ExtraMetric& metric = tree.extra_metrics[m];
    const std::int64_t value = counts.asked_for(m);
    if (run::scale_of(metric.unit) == 1 && metric.scale == 1) row.cells.emplace_back(value);
    else row.cells.emplace_back(value_of(metric, value));
  }
}

std::string precision_of(const Document& document, run::PathKind kind, std::string_view name) {
  const bool is_counted = name == run::not_on_cpu_name && document.tree.totals.off_cpu_is_counted;
  if (!is_counted && !run::is_exact(kind, name)) return "sampled";
  return kind == run::PathKind::Mpi && document.part.reconstructed.value_or(false) ? "reconstructed" : "exact";
}

}  // namespace refrain::report
