#pragma once
/// Finds the module that covers an address, and its unwind tables.
///
/// A module may have holes between its segments, where something else or nothing is mapped, and its code, its search
/// table and its frame descriptions may be in different segments. So a `Table` belongs to one address, and memory may
/// only be read within its bounds.

#include <cstdint>

namespace refrain::unwind {

struct Table {
  std::uintptr_t begin, end;    ///< the part of the module around the address that has no hole
  std::uintptr_t eh_frame_hdr;  ///< the module's PT_GNU_EH_FRAME segment (.eh_frame_hdr); 0: it has none
};

/// False when no module covers `address`. Async-signal-safe.
bool find_table(std::uintptr_t address, Table& table);

/// The same for another address of the module of `table`. False when the address is not in it. Async-signal-safe.
bool find_part(const Table& table, std::uintptr_t address, Table& part);

/// Where `find_table` looks: glibc's lock-free `_dl_find_object` (since 2.35), or a list of our own.
enum class TableSource : std::uint8_t { Libc, Own };

/// Ordinary context only. `Own` is for libraries without the function and for tests.
void use_tables_of(TableSource source);
/// `Libc` if this libc has the function.
TableSource best_table_source();

}  // namespace refrain::unwind
