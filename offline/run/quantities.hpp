#pragma once
/// Quantities that add rightly. What is added up is what the error is made from, not the error: that comes last, when a
/// number is shown.
///
/// Exact ones are integers (nanoseconds, bytes, counts), in any order the same sum. Time that samples have divided is
/// multinomial within a stratum, which is what one location did in one unit: shares of it are correlated there and
/// independent of all others, so weights add within a stratum and variances between them. Estimates from kept
/// iterations are correlated over call paths and ranks, and say so by replicates.

#include <array>
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

/// A value for a whole loop from some of its iterations. Ranks wait in the same iterations, so their estimates err
/// together. Each replicate gives every kept iteration a sign, the same one on all ranks, and adds up the residuals
/// under these signs: sums of estimates add replicates one by one, and their scatter is the error of the sum (McCarthy,
/// Pseudo-replication: half samples, 1969; Wu, Jackknife, bootstrap and other resampling methods, 1986).
struct Estimate {
  static constexpr std::size_t replicates = 16;

  double value = 0, low = 0, high = 0;         ///< bounds add as intervals
  std::array<double, replicates> deviation{};  ///< of each replicate, from `value`

  /// `residual`: what the iteration has more than the mean of those that were kept, times what it stands for. `loop`
  /// has the same number on all ranks.
  void add_residual(std::uint64_t loop, std::int64_t iteration, double residual);
  Estimate& operator+=(const Estimate& other);
  double error() const;

  /// Any function of estimates, as a ratio or a maximum: its value, and its error by that of each replicate.
  template <class F, class... Estimates>
  static Estimate of(const F& function, const Estimates&... from) {
    Estimate result;
    result.value = result.low = result.high = function(from.value...);
    for (std::size_t r = 0; r < replicates; ++r)
      result.deviation[r] = function((from.value + from.deviation[r])...) - result.value;
    return result;
  }
};

/// 1 or -1.
int sign_of(std::size_t replicate, std::uint64_t loop, std::int64_t iteration);

}  // namespace refrain::run
