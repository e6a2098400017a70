#pragma once
/// Sizes of the maps of loops in a file of limited size.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace refrain::explorer {

/// Number of metrics that have a map in each loop.
inline constexpr std::size_t metrics_with_map = 3;

/// The places and iterations that the maps of a loop show.
struct MapOf {
  std::size_t places = 0;
  std::int64_t iterations = 0;
};

/// Maximum numbers of rows and columns. `code_step`: step to which the codes of values are rounded (codes.hpp).
struct MapSize {
  std::size_t rows = 1, columns = 1;
  unsigned code_step = 1;
};

/// Sizes of the maps of all loops when all data may take `bytes` in the file: at most 1,024 rows and 1,024 columns, or
/// 4,096 columns for few places. A loop that needs less than its share leaves the rest to the others. When maps do not
/// fit, values are rounded first, then rows and columns are merged.
std::vector<MapSize> map_sizes(std::span<const MapOf> loops, std::size_t bytes);

}  // namespace refrain::explorer
