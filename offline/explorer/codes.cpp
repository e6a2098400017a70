#include "offline/explorer/codes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace refrain::explorer {
namespace {

constexpr std::uint16_t not_known_code = 1;
constexpr double smallest_code = 2, largest_code = 65535;
const double width_of_code = std::log(1e12) / (largest_code - 1);

}  // namespace

std::uint16_t code_of(double share, unsigned step) {
  if (std::isnan(share)) return not_known_code;
  if (!(share > 0)) return 0;
  const double steps = std::round(std::log(share) / (width_of_code * step));
  return static_cast<std::uint16_t>(std::clamp(largest_code + steps * step, smallest_code, largest_code));
}

double share_of(std::uint16_t code) {
  if (code == not_known_code) return std::numeric_limits<double>::quiet_NaN();
  return code == 0 ? 0 : std::exp((code - largest_code) * width_of_code);
}

double scale_of(std::span<const float> values) {
  double scale = 0;
  for (const float value : values)
    if (std::isfinite(value)) scale = std::max(scale, std::abs(static_cast<double>(value)));
  return scale;
}

void append_codes(std::span<const float> values, double scale, std::string& out, unsigned step) {
  const std::size_t high = out.size(), low = high + values.size();
  out.resize(low + values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t code = code_of(std::abs(static_cast<double>(values[i])) / (scale > 0 ? scale : 1), step);
    out[high + i] = static_cast<char>(code >> 8);
    out[low + i] = static_cast<char>(code & 0xff);
  }
}

}  // namespace refrain::explorer
