#pragma once
/// Two-byte codes of numbers: 0, not known, or a fraction of the largest number of a row, down to 10^-12 of it, with a
/// relative error of at most 0.022 % (docs/explorer-format.md). Codes that are rounded to multiples of a step, counted
/// from the largest code, compress better; the error is that of a step of 1, times the step.

#include <cstdint>
#include <span>
#include <string>

namespace refrain::explorer {

/// `share`: fraction of the scale; 0 and below is 0. NaN: not known.
std::uint16_t code_of(double share, unsigned step = 1);
/// The inverse of code_of().
double share_of(std::uint16_t code);

/// The largest magnitude of the values; 0 when there are none.
double scale_of(std::span<const float> values);

/// Appends the high bytes of all codes, then the low bytes: neighbouring high bytes are similar, which compresses well.
void append_codes(std::span<const float> values, double scale, std::string& out, unsigned step = 1);

}  // namespace refrain::explorer
