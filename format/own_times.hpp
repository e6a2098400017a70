#pragma once
/// The kinds of Refrain's own work and what is known of each, for measuring, writing and reading.

#include <cstddef>
#include <cstdint>

namespace refrain::format {

enum class OwnTime : std::uint8_t {
#define OWN_TIME(id, name, help) id,
#include "format/own_times.def"
#undef OWN_TIME
};
struct OwnTimeRow {
  const char* name;
  const char* help;
};
inline constexpr OwnTimeRow own_time_table[] = {
#define OWN_TIME(id, name, help) {name, help},
#include "format/own_times.def"
#undef OWN_TIME
};
inline constexpr std::size_t own_time_count = sizeof own_time_table / sizeof *own_time_table;

/// Mean of a kind in ticks and its standard error.
struct OwnTimeMean {
  std::int64_t timed;
  double mean, error;
};

}  // namespace refrain::format
