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
  for (const auto& [name, unit] : tree.extra_metrics)
    columns.push_back({run::metric_of(name, unit).column(), kind_of_unit(unit), in, name, group});
}

void add_asked_for(Row& row, const analysis::CallTree& tree, const analysis::Counts& counts) {
  for (std::size_t m = 0; m < tree.extra_metrics.size(); ++m) {
    const std::int64_t value = counts.asked_for(m);
    const double divisor = run::scale_of(tree.extra_metrics[m].unit);
    if (divisor == 1) row.cells.emplace_back(value);
    else row.cells.emplace_back(static_cast<double>(value) / divisor);
  }
}

std::string precision_of(const Document& document, run::PathKind kind, std::string_view name) {
  const bool is_counted = name == run::not_on_cpu_name && document.tree.totals.off_cpu_is_counted;
  if (!is_counted && !run::is_exact(kind, name)) return "sampled";
  return kind == run::PathKind::Mpi && document.part.reconstructed.value_or(false) ? "reconstructed" : "exact";
}

}  // namespace refrain::report
