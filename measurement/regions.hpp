#pragma once
/// The loops and regions that the program names itself, beside the MPI functions of the adapter's table. Process-wide.

#include <cstdint>
#include <span>
#include <string_view>

#include "measurement/location.hpp"

namespace refrain::measurement {

/// Ids from here on are the program's; below are the adapter's.
inline constexpr std::uint16_t first_user_region = 4096;
inline constexpr std::size_t max_user_regions = 4096;
inline constexpr std::size_t longest_region_name = 255;

/// The name of a region: UTF-8 without control characters, 1 to 255 bytes. Other bytes become '?', an empty name
/// becomes
/// "(unnamed)". Names that are equal after that are one region.
class RegionName {
 public:
  explicit RegionName(std::string_view given);
  std::string_view view() const { return {text_, size_}; }
  bool is_as_given() const { return as_given_; }

 private:
  char text_[longest_region_name];
  std::uint8_t size_ = 0;
  bool as_given_ = true;
};

/// The id of a name, the same for equal names. Ordinary context, any thread. When all ids are taken, a new name gets
/// the id of "(other regions)". `is_new`: the name was not asked for before.
RegionId user_region(const RegionName& name, bool* is_new = nullptr);

/// Names by id - first_user_region. They stay valid.
std::span<const char* const> user_region_names();

}  // namespace refrain::measurement
