#pragma once
/// Table columns for the metrics of call paths: those of format/metrics.def and those of the experiment.

#include "offline/report/overview.hpp"

namespace refrain::report {

/// `unit`: as in a file, or as it is shown.
Kind kind_of_unit(std::string_view unit);
void add_count_columns(std::vector<Column>& columns);
void add_counts(Row& row, const analysis::Counts& counts);

/// Seconds for times; other metrics have their own unit.
double value_of(const experiment::ExtraMetric& metric, std::int64_t integer);
/// The metrics that the user has asked for.
void add_asked_for_columns(std::vector<Column>& columns, const analysis::CallTree& tree, unsigned in,
                           const std::vector<std::string>& group);
void add_asked_for(Row& row, const analysis::CallTree& tree, const analysis::Counts& counts);

/// How well the values of a call path are known: MPI values are exact sums, or in one iteration reconstructed from its
/// cluster and its exact totals; values of other code come from samples.
std::string precision_of(const Document& document, run::PathKind kind, std::string_view name);

}  // namespace refrain::report
