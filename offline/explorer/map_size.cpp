#include "offline/explorer/map_size.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace refrain::explorer {
namespace {

constexpr std::size_t most_rows = 1024, most_columns = 4096, most_cells = std::size_t{1024} * 1024,
                      least_cells = std::size_t{64} * 64;
constexpr unsigned coarse_step = 16;  // 0.34 %
/// Bytes of a value in base64: codes of two bytes compress to some three quarters, rounded ones to some six bits.
constexpr double bytes_of_exact = 2, bytes_of_rounded = 1;
/// Values per cell over all maps: means, and also peaks where a cell stands for several values.
constexpr double means = metrics_with_map, means_and_peaks = 2 * metrics_with_map;

/// The largest size that has at most `cells` cells.
MapSize fit(const MapOf& of, std::size_t cells) {
  MapSize size{std::clamp<std::size_t>(of.places, 1, most_rows),
               static_cast<std::size_t>(std::clamp<std::int64_t>(of.iterations, 1, most_columns))};
  if (size.rows * size.columns <= cells) return size;
  const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(cells)));
  if (size.columns <= side) return {std::min(size.rows, cells / size.columns), size.columns};
  size.rows = std::min(size.rows, side);
  size.columns = std::min(size.columns, cells / size.rows);
  return size;
}

/// The number of values in all maps of the loop.
double values_of(const MapOf& of, const MapSize& size) {
  const bool is_whole = size.rows == of.places && static_cast<std::int64_t>(size.columns) == of.iterations;
  return static_cast<double>(size.rows * size.columns) * (is_whole ? means : means_and_peaks);
}

MapSize size_in(const MapOf& of, double bytes) {
  MapSize size = fit(of, most_cells);
  if (values_of(of, size) * bytes_of_exact <= bytes) return size;
  if (values_of(of, size) * bytes_of_rounded > bytes) {
    const double cells = bytes / bytes_of_rounded / means_and_peaks;
    size = fit(of, std::max(static_cast<std::size_t>(cells), least_cells));
  }
  size.code_step = coarse_step;
  return size;
}

}  // namespace

std::vector<MapSize> map_sizes(std::span<const MapOf> loops, std::size_t bytes) {
  constexpr double share = 0.32;
  std::vector<double> wanted;
  for (const MapOf& of : loops) wanted.push_back(values_of(of, fit(of, most_cells)) * bytes_of_exact);
  std::vector<std::size_t> by_need(loops.size());
  std::iota(by_need.begin(), by_need.end(), 0);
  std::ranges::stable_sort(by_need, {}, [&](std::size_t i) { return wanted[i]; });
  std::vector<MapSize> sizes(loops.size());
  double room = share * static_cast<double>(bytes);
  std::size_t left = loops.size();
  for (const std::size_t i : by_need) {
    const double part = std::min(wanted[i], room / static_cast<double>(left--));
    sizes[i] = size_in(loops[i], part);
    room -= part;
  }
  return sizes;
}

}  // namespace refrain::explorer
