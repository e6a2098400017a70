#pragma once
/// The loops and regions that the program names itself, beside the MPI functions of the adapter's table. Process-wide.

#include <cstdint>
#include <span>
#include <string_view>

#include "measurement/location.hpp"

namespace refrain::measurement {

/// Ids from here on are the program's; below are the adapter's.
inline constexpr std::uint16_t first_user_region = 4096;
inline constexpr std::size_t most_user_regions = 4096;

/// The id of a name, the same for equal names. Ordinary context, any thread. A name beyond the last id gets that of
/// "(other regions)"; longer names than 255 bytes are cut.
RegionId user_region(std::string_view name);

/// Names by id - first_user_region, for ever valid.
std::span<const char* const> user_region_names();

}  // namespace refrain::measurement
