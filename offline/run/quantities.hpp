#pragma once
/// Quantities that add rightly. What is added up is what the error is made from, not the error: that comes last, when a
/// number is shown.
///
/// Exact ones are integers (nanoseconds, bytes, counts), in any order the same sum. Time that samples have divided is
/// multinomial within a stratum, which is what one location did in one unit: shares of it are correlated there and
/// independent of all others, so weights add within a stratum and variances between them. Estimates from kept
/// iterations are correlated over call paths and ranks, and say so by replicates. Bounds add as intervals.

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

namespace refrain::run {

/// Wide enough for the nanoseconds and bytes of any number of ranks.
using Integer = __int128;
/// Held at the ends of the narrower range.
std::int64_t narrowed(Integer value);

enum class Known : std::uint8_t {
  Exact,         ///< recorded, or the sum of what was recorded
  Sampled,       ///< divided in proportion to samples
  Reconstructed  ///< of one iteration, from its cluster and its exact totals
};
const char* name_of(Known known);

/// The time of one location in one unit that its samples have divided.
struct Stratum {
  double time = 0;                 ///< in the unit that results have
  double weight = 0, squares = 0;  ///< sums of w and w^2 over all its samples
  /// Of the time that samples of this weight stand for.
  double error_of(double part) const;
  double variance_of(double part) const;
  /// Adds those of many parts.
  void add_variances(std::span<const double> parts, std::span<double> variances) const;
};

/// A value of one metric, added up (group.hpp).
struct Quantity {
  Integer value = 0;             ///< nanoseconds, bytes or 1
  Integer sampled = 0;           ///< part of it that samples have divided
  double variance = 0;           ///< of that part
  Integer below = 0, above = 0;  ///< the truth may be less and more by so much, for reasons that are no chance
  Known known = Known::Exact;
  bool is_known = true;   ///< of all locations; else `value` is that of the others
  bool has_error = true;  ///< else `variance` is not all of it

  /// The standard error; nothing: it is not known, or bounds are all that is.
  std::optional<double> error() const;
};

/// A sign for each replicate: bit r is set where replicate r subtracts.
using Signs = std::uint16_t;

/// The signs of an iteration of a loop: the same ones on all ranks, whose number of the loop must be the same. Also
/// those of whatever else errs together, by a number of its own.
Signs signs_of(std::uint64_t loop, std::int64_t iteration);

/// How much an estimate from kept iterations may be off. Ranks and call sites wait in the same iterations, so their
/// estimates err together. Each replicate gives every kept iteration a sign and adds up the residuals under these
/// signs: a sum of estimates has the sums of their replicates, element by element, and their scatter is its error
/// (McCarthy, Pseudo-replication: half samples, 1969; Wu, Jackknife, bootstrap and other resampling methods, 1986).
/// Sums of squared errors would be those of estimates that err independently of each other.
///
/// Integers, so no order of adding changes a sum. The error is itself an estimate, from 16 values: its own relative
/// standard deviation is 1 / sqrt(32).
struct Replicates {
  static constexpr std::size_t count = 16;
  std::array<std::int64_t, count> ns{};  ///< by how much each is more than the value

  /// `residual_ns`: by how much the iteration differs from what others say of it, times what it stands for.
  void add(Signs signs, double residual_ns);
  Replicates& operator+=(const Replicates& other);
  /// Of `factor` times the value.
  Replicates scaled(double factor) const;
  bool operator==(const Replicates&) const = default;
  bool empty() const { return *this == Replicates(); }  ///< the value is exact
  double error_ns() const;
};

/// Replicates of so many ranks that follow each other are kept as one sum: 1 up to 1,024 ranks, and beyond that as many
/// as make 1,024 blocks of all of them.
std::int32_t ranks_in_block(std::int32_t ranks);

/// The standard error of a function of estimates, as a ratio or a maximum: `of(r)` evaluates it for their replicates r.
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
  double below_s = 0, above_s = 0;  ///< the truth may be less and more by so much, any of it as likely; these add
  Replicates replicates = {};

  Estimate& operator+=(const Estimate& other);
  double error_s() const;
  double bounds_deviation_s() const;  ///< the part of the error that bounds make
  double seconds_of(std::size_t replicate) const;
  /// For a value that cannot be off by more: makes what it may be off by smaller, and returns by which factor.
  double limit_error(double most_s);
};

}  // namespace refrain::run
