#pragma once
/// Debug information: the units that have code (DWARF 5, section 3.1), and the ranges of a function.

#include <cstdint>
#include <dwarf.h>
#include <elfutils/libdw.h>

namespace refrain::symbols {

/// Calls `callback(unit, code)` for each unit. `unit` is in the module itself and has the addresses; `code` has the
/// entries below it: the split unit of a skeleton if there is one, else `unit` again.
template <typename Callback>
void for_each_unit(Dwarf* dwarf, Callback callback) {
  Dwarf_CU *unit = nullptr, *next = nullptr;
  Dwarf_Half version = 0;
  std::uint8_t type = 0;
  Dwarf_Die die, split;
  while (dwarf_get_units(dwarf, unit, &next, &version, &type, &die, &split) == 0) {
    unit = next;
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    callback(die, type == DW_UT_skeleton && split.addr != nullptr ? split : die);
  }
}

/// Calls callback(begin, end) for each range of code of a function, except code that the linker has discarded, whose
/// description stays at address 0 or 1.
template <class Callback>
void for_each_range(Dwarf_Die& die, Callback callback) {
  constexpr Dwarf_Addr highest_discarded = 1;
  Dwarf_Addr base = 0, begin = 0, end = 0;
  for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;)
    if (begin > highest_discarded && begin < end) callback(begin, end);
}

}  // namespace refrain::symbols
