#include "platform/modules.hpp"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/found_object.hpp"
#include "platform/hot.hpp"
#include "platform/pages.hpp"
#include "platform/symbols.hpp"

namespace refrain::platform {

REFRAIN_HOT_DATA std::atomic<std::uint32_t> unload_count{0};

namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/// How a handler can see that a module is back at its address.
enum class Mark : std::uint8_t {
  None,     ///< it cannot, so a module that comes here counts as another one
  BuildId,  ///< it compares the bytes at `build_id_at`
  Name      ///< it compares `name_hash`
};

/// The part that handlers scan, kept separate so that a scan touches few cache lines.
struct Mapping {
  std::uintptr_t begin, end;
  std::atomic<std::uint32_t> vacated;  ///< generation at which the module was last gone; 0: never
  std::atomic<bool> mapped;
};

struct Record {
  Module module;  ///< except `unloaded` and `mapped`; complete before the record is published
  std::atomic<std::uint32_t> unloaded;
  std::uint32_t seen;  ///< generation after the last scan that found it
  Mark mark;
  std::uintptr_t map_begin, map_end;  ///< the loader's bounds
  const std::uint8_t* build_id_at;
  std::uint64_t name_hash;
};

constexpr std::uint32_t chunk_size = 64;
struct Chunk {
  Mapping mappings[chunk_size];
  Record records[chunk_size];
};
Chunk* chunks[module_limit / chunk_size];  ///< written before their contents are published
std::atomic<std::uint32_t> published{0};
std::atomic<std::uint32_t> left_out{0};
std::atomic<std::uint32_t> unloading{0};

/// All addresses from which a module was ever unloaded lie between these two. Most code lies outside.
std::atomic<std::uintptr_t> vacated_begin{~std::uintptr_t{0}}, vacated_end{0};

Mapping& mapping(std::uint32_t i) { return chunks[i / chunk_size]->mappings[i % chunk_size]; }
Record& record(std::uint32_t i) { return chunks[i / chunk_size]->records[i % chunk_size]; }

/// The bounds of the mapping exclude most addresses; only a module's record knows its holes.
bool lies_in(std::uint32_t i, std::uintptr_t address) {
  const Mapping& there = mapping(i);
  return there.begin <= address && address < there.end && record(i).module.segments.contains(address);
}

FindObject find_object = nullptr;  ///< null: libc has none, or no scan has been made yet

constexpr std::uintptr_t page_size = 4096;

/// Copies a name that the dynamic linker may free once dl_iterate_phdr() has returned. The linker's lock is held until
/// then, but the thread sanitizer does not know it.
[[gnu::no_sanitize("thread")]] void copy_name(char (&to)[sizeof Module::path], const char* name) {
  std::size_t i = 0;
  for (; i + 1 < sizeof to && name[i]; ++i) to[i] = name[i];
  to[i] = 0;
}

/// Hashes as much of the name as copy_name() keeps.
std::uint64_t hash_of(const char* name) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (std::size_t i = 0; i + 1 < sizeof Module::path && name[i]; ++i)
    hash = (hash ^ static_cast<unsigned char>(name[i])) * 0x100000001b3u;
  return hash;
}

/// Whether `object`, whose name has the hash `name_hash`, is the known module at its old address.
bool is_back(const Record& known, const FoundObject& object, std::uint64_t name_hash) {
  const auto* map = static_cast<const link_map*>(object.link_map);
  if (known.mark == Mark::None || map->l_addr != known.module.base) return false;
  // For an object with holes that the kernel has mapped, the loader returns one segment at a time.
  if (known.map_begin != reinterpret_cast<std::uintptr_t>(object.map_start) ||
      known.map_end != reinterpret_cast<std::uintptr_t>(object.map_end)) {
    FoundObject first;
    if (find_object(reinterpret_cast<void*>(known.map_begin), &first) != 0 || first.link_map != object.link_map ||
        known.map_begin != reinterpret_cast<std::uintptr_t>(first.map_start) ||
        known.map_end != reinterpret_cast<std::uintptr_t>(first.map_end))
      return false;
  }
  if (known.mark == Mark::Name) return name_hash == known.name_hash;
  return std::memcmp(known.build_id_at, known.module.build_id, known.module.build_id_size) == 0;
}

/// Records what a handler will need to recognise the module that is mapped now.
void read_mark(Record& added, const char* name) {
  if (!find_object) return;
  FoundObject object;
  if (find_object(reinterpret_cast<void*>(added.module.begin), &object) == 0) {
    added.map_begin = reinterpret_cast<std::uintptr_t>(object.map_start);
    added.map_end = reinterpret_cast<std::uintptr_t>(object.map_end);
  } else {
    // Another thread is loading the module: the loader lists a module shortly before `find_object` knows it. Without a
    // mark, each such case would leave a record that nothing is ever compared with.
    added.map_begin = added.module.begin & ~(page_size - 1);
    added.map_end = added.module.end;
  }
  added.name_hash = hash_of(name);
  const std::uintptr_t id = reinterpret_cast<std::uintptr_t>(added.build_id_at);
  if (added.module.build_id_size == 0) added.mark = Mark::Name;
  // The first page of a mapped file is always readable: it has the headers and, nearly always, the build-id.
  else if (id - added.map_begin <= page_size - sizeof added.module.build_id) added.mark = Mark::BuildId;
}

void read_build_id(Record& added, const dl_phdr_info& info) {
  Module& module = added.module;
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
        added.build_id_at = reinterpret_cast<const std::uint8_t*>(description);
        return;
      }
      at = next;
    }
  }
}

void read_path(Module& module, const char* name, bool main_program) {
  if (main_program) {
    const ssize_t n = readlink("/proc/self/exe", module.path, sizeof module.path - 1);
    module.path[n > 0 ? n : 0] = 0;
  } else if (std::strncmp(name, "linux-vdso", 10) == 0) {
    std::strcpy(module.path, "[vdso]");
  } else {
    std::size_t length = 0;
    if (*name && *name != '/' && getcwd(module.path, sizeof module.path - 1)) {
      length = std::strlen(module.path);
      module.path[length++] = '/';
      while (std::strncmp(name, "./", 2) == 0) name += 2;
    }
    std::strncpy(module.path + length, name, sizeof module.path - 1 - length);
  }
}

void read_stamp(Module& module, bool main_program) {
  struct stat status;
  // The path may lead elsewhere by now; /proc/self/exe is what runs.
  const char* path = main_program ? "/proc/self/exe" : module.path;
  if (module.build_id_size == 0 && *path == '/' && syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0)
    module.file = FileStamp(status);
}

struct Scan {
  std::uint32_t known = 0, added = 0, without_record = 0;
  bool seen[module_limit];         ///< which of the known modules were seen
  bool first = true;               ///< the dynamic linker reports the executable first
  char name[sizeof Module::path];  ///< of the visited module
};

/// Whether the module `found` is `known`, which may have come back to its address.
bool is_same(const Record& known, const Record& found, bool mapped) {
  const Module &a = known.module, &b = found.module;
  if (a.base != b.base || a.build_id_size != b.build_id_size ||
      std::memcmp(a.build_id, b.build_id, b.build_id_size) != 0)
    return false;
  return mapped || (known.mark != Mark::None && known.mark == found.mark &&
                    (known.mark == Mark::BuildId || known.name_hash == found.name_hash));
}

/// Makes room for one more record, filled with zeros. Null: there is none.
Record* new_record(std::uint32_t index) {
  if (index >= module_limit) return nullptr;
  Chunk*& chunk = chunks[index / chunk_size];
  if (!chunk) chunk = static_cast<Chunk*>(map_pages(sizeof(Chunk)));
  return chunk ? &record(index) : nullptr;
}

int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto& scan = *static_cast<Scan*>(data);
  const bool main_program = scan.first;
  scan.first = false;
  Record found{};
  Module& module = found.module;
  module.base = info->dlpi_addr;
  module.segments = segments_of(*info);
  if (module.segments.count == 0) return 0;
  module.begin = module.segments.of[0].begin;
  module.end = module.segments.of[module.segments.count - 1].end;
  read_build_id(found, *info);
  copy_name(scan.name, info->dlpi_name);
  read_mark(found, scan.name);
  for (std::uint32_t i = 0; i < scan.known; ++i) {
    const Mapping& there = mapping(i);
    if (there.begin != module.begin || there.end != module.end) continue;
    if (!is_same(record(i), found, there.mapped.load(std::memory_order_relaxed))) continue;
    scan.seen[i] = true;
    return 0;
  }
  Record* added = new_record(scan.known + scan.added);
  if (!added) return ++scan.without_record, 0;
  read_path(module, scan.name, main_program);
  read_stamp(module, main_program);
  std::memcpy(static_cast<void*>(added), &found, sizeof found);
  added->unloaded.store(still_loaded, std::memory_order_relaxed);
  Mapping& there = mapping(scan.known + scan.added++);
  there.begin = module.begin;
  there.end = module.end;
  there.mapped.store(true, std::memory_order_relaxed);
  return 0;
}

void extend_vacated(const Mapping& gone) {
  if (gone.begin < vacated_begin.load(std::memory_order_relaxed))
    vacated_begin.store(gone.begin, std::memory_order_release);
  if (gone.end > vacated_end.load(std::memory_order_relaxed)) vacated_end.store(gone.end, std::memory_order_release);
}

/// The generation since which no other mapping has overlapped `wanted`.
std::uint32_t free_since(const Mapping& wanted, std::uint32_t known) {
  std::uint32_t since = 0;
  for (std::uint32_t i = 0; i < known; ++i) {
    const Mapping& other = mapping(i);
    const std::uint32_t vacated = other.vacated.load(std::memory_order_relaxed);
    if (other.begin < wanted.end && wanted.begin < other.end && vacated > since) since = vacated;
  }
  return since;
}

/// Call it with the lock held. True: modules are gone.
bool scan_modules() {
  if (!find_object) find_object = reinterpret_cast<FindObject>(find_symbol(RTLD_DEFAULT, "_dl_find_object"));
  static Scan scan;
  scan.known = published.load(std::memory_order_relaxed);
  scan.added = scan.without_record = 0;
  scan.first = true;
  std::memset(scan.seen, 0, scan.known);
  dl_iterate_phdr(visit, &scan);
  if (scan.without_record > left_out.load(std::memory_order_relaxed))
    left_out.store(scan.without_record, std::memory_order_relaxed);
  const std::uint32_t now = unload_count.load(std::memory_order_relaxed);
  bool gone = false;
  for (std::uint32_t i = 0; i < scan.known; ++i) {
    Mapping& there = mapping(i);
    if (there.mapped.load(std::memory_order_relaxed) == scan.seen[i]) continue;
    if (!scan.seen[i]) {
      gone = true;
      // Unknown code may have come since the unload began, and be remembered with that generation.
      const std::uint32_t vacated = record(i).seen + 1;
      if (there.vacated.load(std::memory_order_relaxed) == 0)
        record(i).unloaded.store(vacated, std::memory_order_relaxed);
      there.vacated.store(vacated, std::memory_order_relaxed);
      extend_vacated(there);
    }
    there.mapped.store(scan.seen[i], std::memory_order_release);
  }
  for (std::uint32_t i = scan.known; i < scan.known + scan.added; ++i)
    record(i).module.loaded = free_since(mapping(i), scan.known);
  published.store(scan.known + scan.added, std::memory_order_release);
  for (std::uint32_t i = 0; i < scan.known + scan.added; ++i)
    if (i >= scan.known || scan.seen[i]) record(i).seen = now + gone;
  if (gone) unload_count.fetch_add(1, std::memory_order_acq_rel);
  return gone;
}

}  // namespace

FileStamp::FileStamp(const struct stat& status)
    : device(status.st_dev),
      inode(status.st_ino),
      size(static_cast<std::uint64_t>(status.st_size)),
      changed_s(status.st_mtim.tv_sec),
      changed_ns(status.st_mtim.tv_nsec) {}

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

bool copy_module(std::size_t index, Module& copy) {
  if (index >= published.load(std::memory_order_acquire)) return false;
  const auto i = static_cast<std::uint32_t>(index);
  copy = record(i).module;
  copy.unloaded = record(i).unloaded.load(std::memory_order_relaxed);
  copy.mapped = mapping(i).mapped.load(std::memory_order_relaxed);
  return true;
}

std::uint32_t modules_left_out() { return left_out.load(std::memory_order_relaxed); }

int find_module(std::uintptr_t address, std::uint32_t generation) {
  for (std::uint32_t i = published.load(std::memory_order_acquire); i-- > 0;) {
    if (lies_in(i, address) && record(i).module.loaded <= generation &&
        generation < record(i).unloaded.load(std::memory_order_relaxed))
      return static_cast<int>(i);
  }
  return -1;
}

Unloading::Unloading() {
  unloading.fetch_add(1, std::memory_order_acq_rel);
  unload_count.fetch_add(1, std::memory_order_acq_rel);
}

Unloading::~Unloading() { unloading.fetch_sub(1, std::memory_order_acq_rel); }

bool is_unloading() { return unloading.load(std::memory_order_acquire) != 0; }

CodeLife code_at(std::uintptr_t address) {
  const std::uint32_t now = module_generation();
  const bool doubtful = is_unloading();
  if (!doubtful && (address < vacated_begin.load(std::memory_order_acquire) ||
                    address >= vacated_end.load(std::memory_order_acquire)))
    return {0, still_loaded, now};
  const std::uint32_t count = published.load(std::memory_order_acquire);
  FoundObject object;
  enum { NotAsked, Found, NotFound } answer = NotAsked;
  std::uint64_t name_hash = 0;
  std::uint32_t since = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!lies_in(i, address)) continue;
    const Mapping& there = mapping(i);
    const Record& known = record(i);
    bool is_here = there.mapped.load(std::memory_order_acquire);
    if (!is_here || (doubtful && known.mark != Mark::None)) {
      if (answer == NotAsked) {
        answer = find_object && find_object(reinterpret_cast<void*>(address), &object) == 0 ? Found : NotFound;
        if (answer == Found) name_hash = hash_of(static_cast<const link_map*>(object.link_map)->l_name);
      }
      is_here = answer == Found && is_back(known, object, name_hash);
    }
    if (is_here) {
      const std::uint32_t first = known.module.loaded;
      return {first, known.unloaded.load(std::memory_order_relaxed), first};
    }
    const std::uint32_t vacated = there.vacated.load(std::memory_order_relaxed);
    // If a module is gone and there was no refresh since, code that lies here now belongs to the present generation.
    since = std::max(since, vacated != 0 && !there.mapped.load(std::memory_order_relaxed) ? vacated : now);
  }
  return {since, still_loaded, std::max(since, now)};
}

}  // namespace refrain::platform
