#pragma once
/// Which module covers an address, and where its unwind tables are.
///
/// A module may have holes between its segments, where something else or nothing is mapped, and its code, its search
/// table and its frame descriptions may lie in different segments. So a `Table` is for one address, and is only good
/// for reading around that address.

#include <cstdint>

namespace refrain::unwind {

struct Table {
  std::uintptr_t begin, end;    ///< what the module has mapped without a hole around the address
  std::uintptr_t eh_frame_hdr;  ///< its PT_GNU_EH_FRAME segment (.eh_frame_hdr), 0 when it has none
};

/// False when no module covers `address`. Async-signal-safe.
bool find_table(std::uintptr_t address, Table& table);

/// The same for another address of the module of `table`; false when it is none. Async-signal-safe.
bool find_part(const Table& table, std::uintptr_t address, Table& part);

/// How `find_table` looks: glibc's lock-free `_dl_find_object` (since 2.35), else a list of our own.
enum class TableSource : std::uint8_t { Libc, Own };

/// Ordinary context only. `Own` is for libraries without the function and for tests.
void use_tables_of(TableSource source);
/// `Libc` when this libc has the function.
TableSource best_table_source();

}  // namespace refrain::unwind
