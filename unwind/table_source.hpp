#pragma once
/// Shared by tables.cpp (handlers) and tables_setup.cpp (ordinary context).

#include <atomic>
#include <cstdint>
#include <link.h>

#include "platform/found_object.hpp"
#include "unwind/tables.hpp"

namespace refrain::unwind {

using platform::FindObject;
using platform::FoundObject;

inline constexpr std::uint32_t own_table_limit = 4096;

/// A list of tables, sorted by `begin`. There are two: one is read while the other is written.
struct OwnTables {
  std::uint32_t count;
  Table tables[own_table_limit];
};

/// Uses the tables of one object only, whatever else is loaded. Ordinary context only.
void use_tables_of(const dl_phdr_info& object);

inline FindObject find_object = nullptr;
inline std::atomic<const OwnTables*> own_tables{nullptr};

}  // namespace refrain::unwind
