#include <algorithm>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "platform/pages.hpp"
#include "unwind/table_source.hpp"
#include "unwind/walker.hpp"

namespace refrain::unwind {
namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
OwnTables* lists[2];
int unused_list = 0;

FindObject libc_find_object() { return reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object")); }

int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto& list = *static_cast<OwnTables*>(data);
  Table table{~std::uintptr_t{0}, 0, 0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME) table.eh_frame_hdr = begin;
    if (header.p_type != PT_LOAD) continue;
    table.begin = std::min(table.begin, begin);
    table.end = std::max<std::uintptr_t>(table.end, begin + header.p_memsz);
  }
  if (table.end && list.count < own_table_limit) list.tables[list.count++] = table;
  return 0;
}

void gather() {
  pthread_mutex_lock(&lock);
  OwnTables*& list = lists[unused_list];
  if (!list) list = static_cast<OwnTables*>(platform::map_pages(sizeof(OwnTables)));
  if (list) {
    list->count = 0;
    dl_iterate_phdr(visit, list);
    std::sort(list->tables, list->tables + list->count,
              [](const Table& a, const Table& b) { return a.begin < b.begin; });
    own_tables.store(list, std::memory_order_release);
    unused_list ^= 1;
  }
  pthread_mutex_unlock(&lock);
}

}  // namespace

TableSource best_table_source() { return libc_find_object() ? TableSource::Libc : TableSource::Own; }

void use_tables_of(TableSource source) {
  if (source == TableSource::Own) gather();
  find_object = source == TableSource::Libc ? libc_find_object() : nullptr;
}

void refresh_tables() {
  if (!find_object) gather();
}

}  // namespace refrain::unwind
