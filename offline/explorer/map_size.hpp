#pragma once
/// How large the maps of loops are in a file of limited size.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace refrain::explorer {

/// The metrics that a loop has maps of.
inline constexpr std::size_t metrics_with_map = 3;

/// The places and iterations that the maps of a loop show.
struct MapOf {
  std::size_t places = 0;
  std::int64_t iterations = 0;
};

/// At most so many rows and columns. `code_step`: the codes of values are rounded to so many (codes.hpp).
struct MapSize {
  std::size_t rows = 1, columns = 1;
  unsigned code_step = 1;
};

/// The sizes of all loops, where data may take `bytes` in the file: 1,024 rows at most, and 1,024 columns, or 4,096 of
/// few places. A loop that needs less than its part of the room leaves the rest to the others. Where maps do not fit,
/// values are rounded first, then rows and columns are put together.
std::vector<MapSize> map_sizes(std::span<const MapOf> loops, std::size_t bytes);

}  // namespace refrain::explorer
