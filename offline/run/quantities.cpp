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

Signs signs_of(std::uint64_t loop, std::int64_t iteration) {
  using format::mixed;
  return static_cast<Signs>(mixed(static_cast<std::uint64_t>(iteration) ^ mixed(loop)));
}

namespace {

std::int64_t rounded(double ns) { return narrowed(static_cast<Integer>(std::round(ns))); }

}  // namespace

void Replicates::add(Signs signs, double residual_ns) {
  const Integer residual = rounded(residual_ns);
  for (std::size_t r = 0; r < count; ++r) {
    const bool subtracts = (signs >> r & 1) != 0;
    ns[r] = narrowed(subtracts ? ns[r] - residual : ns[r] + residual);
  }
}

Replicates& Replicates::operator+=(const Replicates& other) {
  for (std::size_t r = 0; r < count; ++r) ns[r] = narrowed(Integer{ns[r]} + other.ns[r]);
  return *this;
}

Replicates Replicates::scaled(double factor) const {
  Replicates of;
  for (std::size_t r = 0; r < count; ++r) of.ns[r] = rounded(static_cast<double>(ns[r]) * factor);
  return of;
}

double Replicates::error_ns() const {
  return error_by_replicates(0, [&](std::size_t r) { return static_cast<double>(ns[r]); });
}

std::int32_t ranks_in_block(std::int32_t ranks) {
  constexpr std::int32_t most_blocks = 1024;
  return std::max((ranks + most_blocks - 1) / most_blocks, 1);
}

Estimate& Estimate::operator+=(const Estimate& other) {
  seconds += other.seconds;
  below_s += other.below_s;
  above_s += other.above_s;
  replicates += other.replicates;
  return *this;
}

double Estimate::error_s() const { return std::hypot(bounds_deviation_s(), replicates.error_ns() * 1e-9); }

double Estimate::bounds_deviation_s() const { return statistics::uniform_deviation_from(0, -below_s, above_s); }

double Estimate::seconds_of(std::size_t replicate) const {
  return seconds + static_cast<double>(replicates.ns[replicate]) * 1e-9;
}

double Estimate::limit_error(double most_s) {
  const double error = error_s();
  if (!(error > most_s)) return 1;
  const double part = most_s / error;
  below_s *= part;
  above_s *= part;
  replicates = replicates.scaled(part);
  return part;
}

}  // namespace refrain::run
