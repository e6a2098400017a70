#include "unwind/tables.hpp"

#include <algorithm>

#include "unwind/table_source.hpp"

namespace refrain::unwind {

namespace {

bool find_own(std::uintptr_t address, Table& table) {
  const OwnTables* list = own_tables.load(std::memory_order_acquire);
  if (!list) return false;
  const Table* const behind = std::upper_bound(list->tables, list->tables + list->count, address,
                                               [](std::uintptr_t at, const Table& of) { return at < of.begin; });
  if (behind == list->tables || address >= behind[-1].end) return false;
  table = behind[-1];
  return true;
}

}  // namespace

bool find_table(std::uintptr_t address, Table& table) {
  if (!find_object) return find_own(address, table);
  FoundObject found;
  if (find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
  table = {reinterpret_cast<std::uintptr_t>(found.map_start), reinterpret_cast<std::uintptr_t>(found.map_end),
           reinterpret_cast<std::uintptr_t>(found.eh_frame)};
  return address >= table.begin && address < table.end;
}

bool find_part(const Table& table, std::uintptr_t address, Table& part) {
  if (table.begin <= address && address < table.end) {
    part = table;
    return true;
  }
  return find_table(address, part) && part.eh_frame_hdr == table.eh_frame_hdr;
}

}  // namespace refrain::unwind
