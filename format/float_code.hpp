#pragma once
/// Encodes integers as floating-point numbers with 6 bits of exponent and a few of fraction, plus 1, with the sign of
/// the value; 0 is 0. Codes are ordered like the values. For both halves.

#include <bit>
#include <cstdint>

namespace refrain::format {

template <int fraction_bits>
inline std::int32_t float_code(std::int64_t value) {
  if (value == 0) return 0;
  const std::uint64_t magnitude = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const int exponent = 63 - std::countl_zero(magnitude);
  const int drop = exponent - fraction_bits;
  const std::uint64_t rounded = drop > 0 ? (magnitude + (std::uint64_t{1} << (drop - 1))) >> drop : magnitude << -drop;
  // A fraction that is rounded up past its largest value carries into the exponent.
  const auto code = static_cast<std::int32_t>((exponent << fraction_bits) +
                                              static_cast<std::int32_t>(rounded - (1U << fraction_bits)) + 1);
  return value < 0 ? -code : code;
}

template <int fraction_bits>
inline std::int64_t float_value(std::int64_t code) {
  if (code == 0) return 0;
  const std::int64_t positive = (code < 0 ? -code : code) - 1;
  const std::int64_t exponent = positive >> fraction_bits;
  const auto fraction = static_cast<std::uint64_t>((1 << fraction_bits) | (positive & ((1 << fraction_bits) - 1)));
  std::uint64_t magnitude = static_cast<std::uint64_t>(INT64_MAX);  // for codes that the largest values round up to
  if (exponent <= 62)
    magnitude =
        exponent >= fraction_bits ? fraction << (exponent - fraction_bits) : fraction >> (fraction_bits - exponent);
  return code < 0 ? static_cast<std::int64_t>(0 - magnitude) : static_cast<std::int64_t>(magnitude);
}

}  // namespace refrain::format
