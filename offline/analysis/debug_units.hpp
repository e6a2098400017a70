#pragma once
/// The units of a module's debug information that have code (DWARF 5, section 3.1).

#include <cstdint>
#include <dwarf.h>
#include <elfutils/libdw.h>

namespace refrain::analysis {

/// Calls `callback(unit, code)` for each. `unit` stands in the module itself and has the addresses; `code` has what is
/// below it: the split unit of a skeleton where there is one, else `unit` again.
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

}  // namespace refrain::analysis
