#pragma once
/// What tables.cpp (handlers) and tables_setup.cpp (ordinary context) share.

#include <atomic>
#include <cstdint>
#include <link.h>

#include "platform/found_object.hpp"
#include "unwind/tables.hpp"

namespace refrain::unwind {

using platform::FindObject;
using platform::FoundObject;

inline constexpr std::uint32_t own_table_limit = 4096;

/// Sorted by `begin`. Two lists: one is read while the other is written.
struct OwnTables {
  std::uint32_t count;
  Table tables[own_table_limit];
};

/// The tables of one object and no others, whatever is loaded. Ordinary context only.
void use_tables_of(const dl_phdr_info& object);

inline FindObject find_object = nullptr;
inline std::atomic<const OwnTables*> own_tables{nullptr};

}  // namespace refrain::unwind
