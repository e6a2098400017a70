#pragma once
/// Samples of single iterations: shared by writer and reader (clustering/sample_store.hpp describes the format).

#include <cstddef>
#include <cstdint>

#include "format/float_code.hpp"

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
inline constexpr unsigned longest_quotient = 20;  ///< after this many ones the plain number follows, in 64 bits
inline constexpr unsigned id_parameter_bits = 5, parameter_bits = 3;

inline std::int32_t code_of(std::int64_t value) { return float_code<fraction_bits>(value); }
inline std::int64_t value_of(std::int64_t code) { return float_value<fraction_bits>(code); }

}  // namespace refrain::format::sample_codes
