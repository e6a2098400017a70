#pragma once
/// Which module covers an address, and where its unwind tables are.

#include <cstdint>

namespace refrain::unwind {

struct Table {
  std::uintptr_t begin, end;    ///< the module's mapping: nothing outside may be read
  std::uintptr_t eh_frame_hdr;  ///< its PT_GNU_EH_FRAME segment (.eh_frame_hdr), 0 when it has none
};

/// False when no module covers `address`. Async-signal-safe.
bool find_table(std::uintptr_t address, Table& table);

/// How `find_table` looks: glibc's lock-free `_dl_find_object` (since 2.35), else a list of our own.
enum class TableSource : std::uint8_t { Libc, Own };

/// Ordinary context only. `Own` is for libraries without the function and for tests.
void use_tables_of(TableSource source);
/// `Libc` when this libc has the function.
TableSource best_table_source();

}  // namespace refrain::unwind
