#include "platform/modules.hpp"

#include <cstring>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "platform/pages.hpp"

namespace refrain::platform {

std::atomic<std::uint32_t> unload_count{0};

namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
constinit NeverDestroyed<GrowableArray<Module>> module_storage;
/// Every access goes through here: the storage outlives exit().
GrowableArray<Module>& modules() { return module_storage.get(); }

/// Address ranges of unloaded modules, for handlers: appended under the lock, read without.
struct UnloadedRange {
  std::uintptr_t begin, end;
  std::uint32_t unloaded;
};
constexpr std::uint32_t range_limit = 1024;
UnloadedRange unloaded_ranges[range_limit];
std::atomic<std::uint32_t> unloaded_count{0};

void read_build_id(Module& module, const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    auto* at = reinterpret_cast<const char*>(info.dlpi_addr + header.p_vaddr);
    const auto* end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* name = at + sizeof note;
      const char* description = name + ((note.n_namesz + 3) & ~3u);
      const char* next = description + ((note.n_descsz + 3) & ~3u);
      if (next > end || next <= at) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        module.build_id_size = note.n_descsz < sizeof module.build_id ? note.n_descsz : sizeof module.build_id;
        std::memcpy(module.build_id, description, module.build_id_size);
        return;
      }
      at = next;
    }
  }
}

void read_path(Module& module, const dl_phdr_info& info, bool main_program) {
  if (main_program) {
    const ssize_t n = readlink("/proc/self/exe", module.path, sizeof module.path - 1);
    module.path[n > 0 ? n : 0] = 0;
  } else if (std::strncmp(info.dlpi_name, "linux-vdso", 10) == 0) {
    std::strcpy(module.path, "[vdso]");
  } else {
    char absolute[PATH_MAX];
    const char* path = info.dlpi_name[0] == '/' ? info.dlpi_name : realpath(info.dlpi_name, absolute);
    std::strncpy(module.path, path ? path : info.dlpi_name, sizeof module.path - 1);
  }
}

struct Scan {
  GrowableArray<std::uint8_t> seen;  ///< by index in `modules`
  bool first = true;
};

int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto& scan = *static_cast<Scan*>(data);
  const bool main_program = scan.first;  // the dynamic linker reports the executable first
  scan.first = false;
  Module module{};
  module.base = info->dlpi_addr;
  module.begin = ~std::uintptr_t{0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (begin < module.begin) module.begin = begin;
    if (begin + header.p_memsz > module.end) module.end = begin + header.p_memsz;
  }
  if (module.end == 0) return 0;
  read_build_id(module, *info);
  for (std::size_t i = 0; i < modules().size(); ++i) {
    const Module& known = modules()[i];
    if (known.unloaded == still_loaded && known.base == module.base && known.begin == module.begin &&
        known.end == module.end && known.build_id_size == module.build_id_size &&
        std::memcmp(known.build_id, module.build_id, module.build_id_size) == 0) {
      if (i < scan.seen.size()) scan.seen[i] = 1;
      return 0;
    }
  }
  read_path(module, *info, main_program);
  module.loaded = unload_count.load(std::memory_order_relaxed);
  module.unloaded = still_loaded;
  if (modules().push_back(module) && scan.seen.resize(modules().size())) scan.seen[modules().size() - 1] = 1;
  return 0;
}

}  // namespace

namespace {

/// With the lock held. True: modules are gone.
bool scan_modules() {
  Scan scan;
  // Who reads the list without the lock shall hardly ever see it move.
  if (modules().size() == 0) (void)modules().reserve(1024);
  const std::size_t known = modules().size();
  bool gone = false;
  if (scan.seen.resize(known)) {
    const std::uint32_t next = unload_count.load(std::memory_order_relaxed) + 1;
    dl_iterate_phdr(visit, &scan);
    for (std::size_t i = 0; i < known; ++i) {
      Module& module = modules()[i];
      if (scan.seen[i] || module.unloaded != still_loaded) continue;
      module.unloaded = next;
      gone = true;
      const std::uint32_t n = unloaded_count.load(std::memory_order_relaxed);
      if (n < range_limit) unloaded_ranges[n] = {module.begin, module.end, next};
      unloaded_count.store(n + 1, std::memory_order_release);
    }
    if (gone) {
      // What this same scan found for the first time may lie where an unloaded module lay: it belongs to the new
      // generation.
      for (std::size_t i = known; i < modules().size(); ++i) modules()[i].loaded = next;
      unload_count.store(next, std::memory_order_release);
    }
  }
  return gone;
}

}  // namespace

bool refresh_modules() {
  pthread_mutex_lock(&lock);
  const bool gone = scan_modules();
  pthread_mutex_unlock(&lock);
  return gone;
}

void try_refresh_modules() {
  if (pthread_mutex_trylock(&lock) != 0) return;
  scan_modules();
  pthread_mutex_unlock(&lock);
}

std::span<const Module> all_modules() { return modules().view(); }

bool copy_module(std::size_t index, Module& copy) {
  pthread_mutex_lock(&lock);
  const bool exists = index < modules().size();
  if (exists) copy = modules()[index];
  pthread_mutex_unlock(&lock);
  return exists;
}

int find_module(std::uintptr_t address, std::uint32_t at) {
  for (std::size_t i = modules().size(); i-- > 0;) {
    const Module& m = modules()[i];
    if (m.begin <= address && address < m.end && m.loaded <= at && at < m.unloaded) return static_cast<int>(i);
  }
  return -1;
}

bool unloaded_since(std::uintptr_t address, std::uint32_t since) {
  const std::uint32_t n = unloaded_count.load(std::memory_order_acquire);
  if (n > range_limit) return true;  // the list is full: rather a second node than a wrong name
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto& range = unloaded_ranges[i];
    if (range.begin <= address && address < range.end && range.unloaded > since) return true;
  }
  return false;
}

}  // namespace refrain::platform
