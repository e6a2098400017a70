#include "offline/analysis/autocorrelation.hpp"

#include <algorithm>
#include <cmath>

namespace refrain::analysis {

double lag1_correlation(std::span<const double> residuals, double parameters, double standard_errors) {
  double squares = 0, products = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    squares += residuals[i] * residuals[i];
    if (i > 0) products += residuals[i] * residuals[i - 1];
  }
  // A random walk has 1 and would tell nothing at all.
  constexpr double most_correlation = 0.98;
  const auto n = static_cast<double>(residuals.size());
  const double seen = squares > 0 ? products / squares : 0;
  const double corrected = std::clamp(seen + parameters * (1 + 3 * seen) / n, 0.0, most_correlation);
  const double error = std::sqrt((1 - corrected * corrected) / n);
  return std::min(corrected + standard_errors * error, most_correlation);
}

double effective_batches(double batches, double correlation) { return batches * (1 - correlation) / (1 + correlation); }

}  // namespace refrain::analysis
