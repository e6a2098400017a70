#pragma once
/// Quantities whose errors add up correctly. Sums are taken of the inputs of an error, not of errors; the error is
/// computed last, when a number is shown.
///
/// Exact quantities are integers (nanoseconds, bytes, counts), whose sum does not depend on the order. Time that
/// samples have divided is multinomial within a stratum, which is one location in one unit: its shares are correlated
/// with each other and independent of other strata, so weights add within a stratum and variances between strata.
/// Estimates from kept iterations are correlated over call paths and ranks, so they carry replicates. Bounds add as
/// intervals.

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

namespace refrain::run {

/// Wide enough for the nanoseconds and bytes of any number of ranks.
using Integer = __int128;
/// Clamped to the narrower range.
std::int64_t narrowed(Integer value);

enum class Known : std::uint8_t {
  Exact,         ///< recorded, or the sum of what was recorded
  Sampled,       ///< divided in proportion to samples
  Reconstructed  ///< of one iteration, from its cluster and its exact totals
};
const char* name_of(Known known);

/// The time of one location in one unit that was divided by its samples.
struct Stratum {
  double time = 0;                 ///< in the unit of the results
  double weight = 0, squares = 0;  ///< sums of w and w^2 over all its samples
  /// The standard error of the time that samples with a total weight of `part` stand for.
  double error_of(double part) const;
  double variance_of(double part) const;
  /// Adds the variances of many parts.
  void add_variances(std::span<const double> parts, std::span<double> variances) const;
};

/// A value of one metric, added up (group.hpp).
struct Quantity {
  Integer value = 0;             ///< nanoseconds, bytes or 1
  Integer sampled = 0;           ///< part of it that samples have divided
  double variance = 0;           ///< of that part
  Integer below = 0, above = 0;  ///< bounds: the true value may be this much less or more, not by chance
  Known known = Known::Exact;
  bool is_known = true;   ///< at all locations; else `value` is that of the other locations
  bool has_error = true;  ///< else `variance` is incomplete

  /// The standard error; nullopt: it is not known, or only bounds are.
  std::optional<double> error() const;
};

/// A sign for each replicate: bit r is set where replicate r subtracts.
using Signs = std::uint16_t;

/// The signs of an iteration of a loop: the same on all ranks, which must use the same number for the loop. Also serves
/// other sources of a common error, each with a number of its own.
Signs signs_of(std::uint64_t loop, std::int64_t iteration);

/// The error of an estimate from kept iterations. Ranks and call sites wait in the same iterations, so their errors are
/// correlated. Each replicate gives every kept iteration a sign and adds up the residuals with these signs. The
/// replicates of a sum of estimates are the sums of their replicates, element by element; their scatter is its error
/// (McCarthy, Pseudo-replication: half samples, 1969; Wu, Jackknife, bootstrap and other resampling methods, 1986).
/// Adding squared errors would be right only for independent estimates.
///
/// Integers, so sums do not depend on the order. The error is itself an estimate, from 16 values: its own relative
/// standard deviation is 1 / sqrt(32).
struct Replicates {
  static constexpr std::size_t count = 16;
  std::array<std::int64_t, count> ns{};  ///< by how much each replicate exceeds the value

  /// `residual_ns`: the difference of the iteration from its prediction by others, times its weight.
  void add(Signs signs, double residual_ns);
  Replicates& operator+=(const Replicates& other);
  /// The replicates of `factor` times the value.
  Replicates scaled(double factor) const;
  bool operator==(const Replicates&) const = default;
  bool empty() const { return *this == Replicates(); }  ///< the value is exact
  double error_ns() const;
};

/// Number of consecutive ranks whose replicates are kept as one sum: 1 up to 1,024 ranks, and beyond that as many as
/// make 1,024 blocks of all ranks. With more than 512 call paths there are fewer blocks, at least 64, so that memory is
/// bounded.
std::int32_t ranks_in_block(std::int64_t ranks, std::size_t paths);

/// The standard error of a function of estimates, such as a ratio or a maximum: `of(r)` evaluates it for replicate r.
template <class F>
double error_by_replicates(double value, const F& of) {
  double squares = 0;
  for (std::size_t r = 0; r < Replicates::count; ++r) {
    const double by = of(r) - value;
    squares += by * by;
  }
  return std::sqrt(squares / Replicates::count);
}

/// An estimated time.
struct Estimate {
  double seconds = 0;
  double below_s = 0, above_s = 0;  ///< bounds: the true value may be this much less or more, uniformly; they add up
  Replicates replicates = {};

  Estimate& operator+=(const Estimate& other);
  double error_s() const;
  double bounds_deviation_s() const;  ///< the part of the error that comes from the bounds
  double seconds_of(std::size_t replicate) const;
  /// For a value whose error cannot exceed `most_s`: scales the error down if it does, and returns the factor.
  double limit_error(double most_s);
};

}  // namespace refrain::run
