#pragma once
/// What the writer and the reader of samples of single iterations agree on (clustering/sample_store.hpp has the
/// format).

#include <bit>
#include <cstddef>
#include <cstdint>

namespace refrain::format {

inline constexpr std::size_t max_columns = 24;  ///< values per call path
inline constexpr std::size_t max_shapes = 8;    ///< kinds of call paths
inline constexpr std::uint8_t no_column = 0xff;

/// A record takes at most an eighth of a store, and a store at most largest_sample_store.
inline constexpr std::size_t largest_sample_store = std::size_t{16} << 20,
                             largest_sample_record = largest_sample_store / 8;

}  // namespace refrain::format

namespace refrain::format::sample_codes {

inline constexpr int fraction_bits = 4;
inline constexpr unsigned longest_quotient = 20;  ///< so many ones in a row: the number follows as it is, in 64 bits
inline constexpr unsigned id_parameter_bits = 5, parameter_bits = 3;

/// Floating point with 4 bits of fraction; 0 is 0. Order is kept.
inline std::int32_t code_of(std::int64_t value) {
  if (value == 0) return 0;
  const std::uint64_t magnitude = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const int exponent = 63 - std::countl_zero(magnitude);
  const int drop = exponent - fraction_bits;
  const std::uint64_t rounded = drop > 0 ? (magnitude + (std::uint64_t{1} << (drop - 1))) >> drop : magnitude << -drop;
  // A fraction that is rounded up to one more runs over into the exponent.
  const auto code = static_cast<std::int32_t>((exponent << fraction_bits) +
                                              static_cast<std::int32_t>(rounded - (1U << fraction_bits)) + 1);
  return value < 0 ? -code : code;
}

inline std::int64_t value_of(std::int64_t code) {
  if (code == 0) return 0;
  const std::int64_t positive = (code < 0 ? -code : code) - 1;
  const std::int64_t exponent = positive >> fraction_bits;
  const auto fraction = static_cast<std::uint64_t>((1 << fraction_bits) | (positive & ((1 << fraction_bits) - 1)));
  std::uint64_t magnitude = static_cast<std::uint64_t>(INT64_MAX);  // the largest values round up to what does not fit
  if (exponent <= 62)
    magnitude =
        exponent >= fraction_bits ? fraction << (exponent - fraction_bits) : fraction >> (fraction_bits - exponent);
  return code < 0 ? static_cast<std::int64_t>(0 - magnitude) : static_cast<std::int64_t>(magnitude);
}

}  // namespace refrain::format::sample_codes
