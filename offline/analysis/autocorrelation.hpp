#pragma once
/// How much a series of batches tells when neighbours resemble each other. Iterations of real programs do: the machine
/// warms up, other jobs come and go, grids are refined.

#include <cstddef>
#include <span>

namespace refrain::analysis {

/// The lag-1 correlation of what a model leaves of batches. An estimate from n values is too low by (1 + 3 r) / n for
/// each parameter that was fitted (Kendall, Marriott and Pope 1954), which is corrected. Between 0 and 0.98.
/// `standard_errors`: the estimate is raised by so many of its own.
double lag1_correlation(std::span<const double> residuals, double parameters = 1, double standard_errors = 0);

/// As many independent batches tell as much: the weight of their mean, and the degrees of freedom of its error.
double effective_batches(double batches, double correlation);

}  // namespace refrain::analysis
