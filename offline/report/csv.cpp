#include <fmt/format.h>

#include "offline/analysis/iteration_metrics.hpp"
#include "offline/report/csv_field.hpp"
#include "offline/report/overview.hpp"

namespace refrain::report {
namespace {

/// `text(column)` for every count, each behind a comma.
template <class Text>
std::string for_counts(Text text) {
  std::string out;
  for (const auto& column : analysis::count_columns) (out += ',') += text(column);
  return out;
}
std::string count_names() {
  return for_counts([](const analysis::CountColumn& column) { return std::string(column.name); });
}
std::string counts(const analysis::Counts& c) {
  return for_counts([&](const analysis::CountColumn& column) { return std::to_string(c.*column.value); });
}

/// How well the values of a row are known: those of MPI are exact sums, or in one iteration reconstructed from its
/// cluster and its exact totals; those of other code come from samples.
const char* precision(const Document& document, analysis::PathKind kind) {
  if (kind != analysis::PathKind::Mpi) return "sampled";
  return document.reconstructed.value_or(false) ? "reconstructed" : "exact";
}

/// The metrics that the user has asked for, exclusive.
std::string extra_columns(const analysis::CallTree& tree) {
  std::string text;
  for (const auto& metric : tree.extra_metrics)
    (text += ',') += csv_field(analysis::metric_of(metric.name, metric.unit).column);
  return text;
}

std::string extra(const analysis::CallTree& tree, const std::vector<std::int64_t>& values) {
  std::string text;
  for (std::size_t m = 0; m < tree.extra_metrics.size(); ++m) {
    const double divisor = analysis::divisor_of(tree.extra_metrics[m].unit);
    text += divisor == 1 ? fmt::format(",{}", values[m]) : fmt::format(",{}", static_cast<double>(values[m]) / divisor);
  }
  return text;
}

}  // namespace

std::string csv_report(const Document& document) {
  std::string out;
  if (document.options.flat) {
    out += fmt::format("function,kind,exclusive_s,inclusive_s{}{},precision\r\n", count_names(),
                       extra_columns(document.tree));
    for (const auto& f : document.functions)
      out += fmt::format("{},{},{},{}{}{},{}\r\n", csv_field(f.name), name_of(f.kind), f.exclusive_s, f.inclusive_s,
                         counts(f.exclusive), extra(document.tree, f.exclusive_extra), precision(document, f.kind));
    return out;
  }
  const bool sites = document.options.callsites;
  out += fmt::format(
      "path,kind,exclusive_s,inclusive_s{},inclusive_min_s,inclusive_mean_s,inclusive_max_s{}{},precision\r\n",
      count_names(), sites ? ",module,file,line,offset" : "", extra_columns(document.tree));
  for (std::uint32_t i = 1; i < document.tree.nodes.size(); ++i) {
    const analysis::TreeNode& node = document.tree.nodes[i];
    out += fmt::format("{},{},{},{}{},{},{},{}", csv_path(document.tree, i), name_of(node.kind), node.exclusive_s,
                       node.inclusive_s, counts(node.exclusive), node.spread.min, node.spread.mean, node.spread.max);
    if (sites) out += fmt::format(",{},{},{},{}", csv_field(node.module), csv_field(node.file), node.line, node.offset);
    out += fmt::format("{},{}\r\n", extra(document.tree, node.exclusive_extra), precision(document, node.kind));
  }
  return out;
}

}  // namespace refrain::report
