#pragma once
/// Dates without the C library's time zone lock and files. Runtime half.

#include <cstdint>

#include "config/line.hpp"

namespace refrain::record {

struct CivilTime {
  int year, month, day, hour, minute, second;
};
/// UTC of a time in nanoseconds since 1970. Valid for the years 1970 to 9999.
CivilTime civil_time(std::int64_t epoch_ns);

/// "2025-03-01T23:59:58Z"
void append_iso_time(config::Line& line, std::int64_t epoch_ns);
/// "20250301-235958"
void append_compact_time(config::Line& line, std::int64_t epoch_ns);

}  // namespace refrain::record
