#include "offline/run/quantities.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "format/hashing.hpp"
#include "statistics/statistics.hpp"

namespace refrain::run {

std::int64_t narrowed(Integer value) {
  using Limits = std::numeric_limits<std::int64_t>;
  return static_cast<std::int64_t>(std::clamp<Integer>(value, Limits::min(), Limits::max()));
}

const char* name_of(Known known) {
  constexpr const char* names[] = {"exact", "sampled", "reconstructed"};
  return names[static_cast<std::size_t>(known)];
}

double Stratum::error_of(double part) const { return std::sqrt(variance_of(part)); }

double Stratum::variance_of(double part) const {
  double variance = 0;
  add_variances({&part, 1}, {&variance, 1});
  return variance;
}

void Stratum::add_variances(std::span<const double> parts, std::span<double> variances) const {
  const double samples = statistics::effective_samples(weight, squares);
  if (!(weight > 0) || !(samples > 0)) return;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i] > 0) variances[i] += time * time * statistics::variance_of_share(parts[i] / weight, samples);
}

std::optional<double> Quantity::error() const {
  if (!has_error || below > 0 || above > 0) return std::nullopt;
  return std::sqrt(variance);
}

int sign_of(std::size_t replicate, std::uint64_t loop, std::int64_t iteration) {
  using format::mixed;
  return mixed(static_cast<std::uint64_t>(iteration) ^ mixed(loop ^ mixed(replicate))) & 1 ? 1 : -1;
}

void Estimate::add_residual(std::uint64_t loop, std::int64_t iteration, double residual) {
  for (std::size_t r = 0; r < replicates; ++r) deviation[r] += sign_of(r, loop, iteration) * residual;
}

Estimate& Estimate::operator+=(const Estimate& other) {
  value += other.value;
  low += other.low;
  high += other.high;
  for (std::size_t r = 0; r < replicates; ++r) deviation[r] += other.deviation[r];
  return *this;
}

double Estimate::error() const {
  double squares = 0;
  for (const double by : deviation) squares += by * by;
  return std::sqrt(squares / replicates);
}

}  // namespace refrain::run
