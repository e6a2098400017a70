#include "offline/explorer/sections.hpp"

#include <algorithm>

#include "offline/explorer/codes.hpp"
#include "offline/explorer/numbers.hpp"

namespace refrain::explorer {
namespace {

bool has_negative(const std::vector<float>& values) {
  return std::ranges::any_of(values, [](float value) { return value < 0; });
}

}  // namespace

std::string sums_section(const Run& run) {
  std::string out;
  for (const Sums& row : run.sums) {
    append<std::uint32_t>(row.kind, out);
    append(row.unit, out);
    append(row.metric, out);
    append(static_cast<std::uint32_t>(row.nodes.size()), out);
    append_all(row.nodes, out);
    align_to(sizeof(double), out);
    append_all(row.values, out);
  }
  return out;
}

std::string cells_section(const Run& run) {
  if (run.cells.empty()) return {};
  std::string out;
  append(static_cast<std::uint32_t>(run.cells.size()), out);
  append(static_cast<std::uint32_t>(run.places.size()), out);
  for (const Cells& row : run.cells) append(row.unit, out);
  for (const Cells& row : run.cells) append(row.metric, out);
  for (const Cells& row : run.cells) append(row.node, out);
  for (const Cells& row : run.cells) append<std::uint32_t>(has_negative(row.values), out);
  for (const Cells& row : run.cells) append(scale_of(row.values), out);
  for (const Cells& row : run.cells) {
    append_codes(row.values, scale_of(row.values), out);
    if (has_negative(row.values))
      for (const float value : row.values) out += static_cast<char>(value < 0);
  }
  return out;
}

std::string series_section(const Run& run) {
  std::string out;
  for (const Loop& loop : run.loops) {
    for (const Curves& curves : loop.curves)
      for (const auto* values : {&curves.least, &curves.median, &curves.greatest, &curves.peak})
        append_all(*values, out);
    for (std::size_t bin = 0; bin < static_cast<std::size_t>(loop.bins); ++bin)
      append(bin < loop.classes.size() ? static_cast<float>(loop.classes[bin]) : 0.0F, out);
  }
  return out;
}

std::string maps_section(const Run& run) {
  std::string out;
  for (const Loop& loop : run.loops)
    for (const Map& map : loop.maps) {
      append_codes(map.mean, scale_of(map.mean), out, map.code_step);
      if (!map.peak.empty()) append_codes(map.peak, scale_of(map.peak), out, map.code_step);
    }
  return out;
}

}  // namespace refrain::explorer
