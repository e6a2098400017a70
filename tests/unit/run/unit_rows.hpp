#pragma once
/// Rows of hand-made units, one call path after the other.

#include <algorithm>
#include <initializer_list>
#include <span>

#include "offline/experiment/profile.hpp"

namespace refrain::experiment::test {

/// A row has all columns of its kind, as one that was read has: those that are not given are 0.
inline void add_row(Unit& unit, std::uint32_t path, format::NodeKind kind, std::span<const std::int64_t> values) {
  const std::size_t first = unit.columns.size();
  unit.values.push_back({path, static_cast<std::uint32_t>(first)});
  unit.columns.resize(first + format::columns_of(kind));
  std::ranges::copy(values, unit.columns.begin() + static_cast<std::ptrdiff_t>(first));
}

/// Each call has sent a message.
inline void add_region(Unit& unit, std::uint32_t path, std::int64_t visits, std::int64_t time, std::int64_t bytes = 0) {
  add_row(unit, path, format::NodeKind::Region, std::initializer_list<std::int64_t>{visits, time, 0, visits, bytes});
}

/// The sums of the unit stay what they are.
inline void add_function(Unit& unit, std::uint32_t path, std::int64_t samples, std::int64_t weight) {
  add_row(unit, path, format::NodeKind::Function, std::initializer_list<std::int64_t>{samples, weight});
}

}  // namespace refrain::experiment::test
