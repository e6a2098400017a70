#pragma once
/// The overall metrics of an iteration: one value per iteration. The facts are in overall.def.

#include <cstddef>
#include <cstdint>

#include "format/iteration_log.hpp"

namespace refrain::format {

enum class Overall : std::uint8_t {
#define OVERALL(id, name, unit, precision, in_distance, help) id,
#include "format/overall.def"
#undef OVERALL
};
struct OverallRow {
  const char* name;
  const char* unit;
  Precision precision;
  bool in_distance;
  const char* help;
};
inline constexpr OverallRow overall_table[] = {
#define OVERALL(id, name, unit, precision, in_distance, help) {name, unit, Precision::precision, in_distance, help},
#include "format/overall.def"
#undef OVERALL
};
/// Those of the table. The extra metrics come behind them.
inline constexpr std::size_t overall_count = sizeof overall_table / sizeof *overall_table;

}  // namespace refrain::format
