#pragma once
/// The columns that tables have for the metrics of call paths, as format/metrics.def and the experiment have them.

#include "offline/report/overview.hpp"

namespace refrain::report {

/// `unit`: of a file, or as it is shown.
Kind kind_of_unit(std::string_view unit);
void add_count_columns(std::vector<Column>& columns);
void add_counts(Row& row, const analysis::Counts& counts);

/// The metrics that the user has asked for.
void add_asked_for_columns(std::vector<Column>& columns, const analysis::CallTree& tree, unsigned in,
                           const std::vector<std::string>& group);
void add_asked_for(Row& row, const analysis::CallTree& tree, const analysis::Counts& counts);

/// How well the values of a call path are known: those of MPI are exact sums, or in one iteration reconstructed from
/// its cluster and its exact totals; those of other code come from samples.
std::string precision_of(const Document& document, run::PathKind kind, std::string_view name);

}  // namespace refrain::report
