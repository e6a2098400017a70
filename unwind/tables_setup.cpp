#include <algorithm>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "platform/pages.hpp"
#include "platform/segments.hpp"
#include "platform/symbols.hpp"
#include "unwind/table_source.hpp"
#include "unwind/walker.hpp"

namespace refrain::unwind {
namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
OwnTables* lists[2];
int unused_list = 0;

FindObject libc_find_object() {
  return reinterpret_cast<FindObject>(platform::find_symbol(RTLD_DEFAULT, "_dl_find_object"));
}

int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto& list = *static_cast<OwnTables*>(data);
  std::uintptr_t eh_frame_hdr = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) eh_frame_hdr = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
  const platform::Segments segments = platform::segments_of(*info);
  for (std::uint32_t i = 0; i < segments.count && list.count < own_table_limit; ++i)
    list.tables[list.count++] = {segments.of[i].begin, segments.of[i].end, eh_frame_hdr};
  return 0;
}

/// `gather(list)` fills an empty list.
template <class Gather>
void replace_list(Gather gather) {
  pthread_mutex_lock(&lock);
  OwnTables*& list = lists[unused_list];
  if (!list) list = static_cast<OwnTables*>(platform::map_pages(sizeof(OwnTables)));
  if (list) {
    list->count = 0;
    gather(list);
    std::sort(list->tables, list->tables + list->count,
              [](const Table& a, const Table& b) { return a.begin < b.begin; });
    own_tables.store(list, std::memory_order_release);
    unused_list ^= 1;
  }
  pthread_mutex_unlock(&lock);
}

void gather_loaded() {
  replace_list([](OwnTables* list) { dl_iterate_phdr(visit, list); });
}

}  // namespace

TableSource best_table_source() { return libc_find_object() ? TableSource::Libc : TableSource::Own; }

void use_tables_of(TableSource source) {
  if (source == TableSource::Own) gather_loaded();
  find_object = source == TableSource::Libc ? libc_find_object() : nullptr;
}

void use_tables_of(const dl_phdr_info& object) {
  replace_list([&](OwnTables* list) {
    dl_phdr_info copy = object;
    visit(&copy, sizeof copy, list);
  });
  find_object = nullptr;
}

void refresh_tables() {
  if (!find_object) gather_loaded();
}

}  // namespace refrain::unwind
