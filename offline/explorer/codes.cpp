#include "offline/explorer/codes.hpp"

#include <algorithm>
#include <cmath>

namespace refrain::explorer {
namespace {

constexpr double largest_code = 65535;
const double step = std::log(1e12) / (largest_code - 1);

}  // namespace

std::uint16_t code_of(double share) {
  if (!(share > 0)) return 0;
  return static_cast<std::uint16_t>(std::clamp(std::round(largest_code + std::log(share) / step), 1.0, largest_code));
}

double share_of(std::uint16_t code) { return code == 0 ? 0 : std::exp((code - largest_code) * step); }

double scale_of(std::span<const float> values) {
  double scale = 0;
  for (const float value : values)
    if (std::isfinite(value)) scale = std::max(scale, std::abs(static_cast<double>(value)));
  return scale;
}

void append_codes(std::span<const float> values, double scale, std::string& out) {
  const std::size_t high = out.size(), low = high + values.size();
  out.resize(low + values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t code = scale > 0 ? code_of(std::abs(static_cast<double>(values[i])) / scale) : 0;
    out[high + i] = static_cast<char>(code >> 8);
    out[low + i] = static_cast<char>(code & 0xff);
  }
}

}  // namespace refrain::explorer
