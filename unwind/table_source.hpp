#pragma once
/// What tables.cpp (handlers) and tables_setup.cpp (ordinary context) share.

#include <atomic>
#include <cstdint>

#include "unwind/tables.hpp"

namespace refrain::unwind {

/// As glibc's <dlfcn.h> defines it since 2.35 for x86-64; its own so that we also build with older headers.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  void* link_map;
  void* eh_frame;
  unsigned long long reserved[7];
};
using FindObject = int (*)(void* address, FoundObject* result);

inline constexpr std::uint32_t own_table_limit = 4096;

/// Sorted by `begin`. Two lists: one is read while the other is written.
struct OwnTables {
  std::uint32_t count;
  Table tables[own_table_limit];
};

extern FindObject find_object;
extern std::atomic<const OwnTables*> own_tables;

}  // namespace refrain::unwind
