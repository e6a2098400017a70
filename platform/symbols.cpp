#include "platform/symbols.hpp"

#include <atomic>
#include <cstring>

namespace refrain::platform {
namespace {

/// The tables by which the dynamic linker finds a name in an object.
struct SymbolTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;
  const std::uint16_t* versions = nullptr;

  explicit SymbolTables(const LoadedObject& object) {
    for (const ElfW(Dyn)* entry = object.dynamic; entry && entry->d_tag != DT_NULL; ++entry) {
      // The dynamic linker has turned these values into addresses, except in the kernel's page, which it cannot write.
      const std::uintptr_t value = entry->d_un.d_ptr;
      const std::uintptr_t address = value < object.base ? object.base + value : value;
      switch (entry->d_tag) {
        case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym)*>(address); break;
        case DT_STRTAB: names = reinterpret_cast<const char*>(address); break;
        case DT_GNU_HASH: gnu_hash = reinterpret_cast<const std::uint32_t*>(address); break;
        case DT_HASH: hash = reinterpret_cast<const std::uint32_t*>(address); break;
        case DT_VERSYM: versions = reinterpret_cast<const std::uint16_t*>(address); break;
        default: break;
      }
    }
  }

  bool are_there() const { return symbols && names && (gnu_hash || hash); }
};

std::uint32_t gnu_hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

std::uint32_t system_v_hash_of(const char* name) {
  std::uint32_t hash = 0;
  for (; *name; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
  }
  return hash;
}

/// The definitions of one name, in the order of the table. Names are compared by the runtime's own function
/// (own_functions.def), because a sanitizer looks its functions up before its own strcmp() can be called.
class Definitions {
 public:
  Definitions(const SymbolTables& tables, const char* name) : tables_(tables), name_(name) {}

  void add(std::uint32_t index) {
    const ElfW(Sym)& symbol = tables_.symbols[index];
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
        std::strcmp(tables_.names + symbol.st_name, name_) != 0)
      return;
    constexpr std::uint16_t is_hidden = 0x8000;  // an older version, which new programs are not linked with
    const bool is_default = !tables_.versions || (tables_.versions[index] & is_hidden) == 0;
    if (!found_ || (is_default && !is_default_)) {
      found_ = &symbol;
      is_default_ = is_default;
    }
  }
  const ElfW(Sym) * best() const { return found_; }

 private:
  const SymbolTables& tables_;
  const char* name_;
  const ElfW(Sym) * found_ = nullptr;
  bool is_default_ = false;
};

void look_up_by_gnu_hash(const SymbolTables& tables, const char* name, Definitions& definitions) {
  const std::uint32_t buckets = tables.gnu_hash[0], first = tables.gnu_hash[1], bloom_words = tables.gnu_hash[2],
                      shift = tables.gnu_hash[3];
  const auto* bloom = reinterpret_cast<const ElfW(Addr)*>(tables.gnu_hash + 4);
  const auto* bucket = reinterpret_cast<const std::uint32_t*>(bloom + bloom_words);
  const std::uint32_t* chain = bucket + buckets;
  if (buckets == 0 || bloom_words == 0) return;
  constexpr unsigned bits = 8 * sizeof(ElfW(Addr));
  const std::uint32_t hash = gnu_hash_of(name);
  const ElfW(Addr) word = bloom[hash / bits % bloom_words];
  if ((word >> hash % bits & word >> (hash >> shift) % bits & 1) == 0) return;
  std::uint32_t index = bucket[hash % buckets];
  if (index < first) return;
  for (;; ++index) {
    const std::uint32_t of_symbol = chain[index - first];
    if ((of_symbol | 1) == (hash | 1)) definitions.add(index);
    if (of_symbol & 1) return;
  }
}

void look_up_by_hash(const SymbolTables& tables, const char* name, Definitions& definitions) {
  const std::uint32_t buckets = tables.hash[0], symbols = tables.hash[1];
  if (buckets == 0) return;
  const std::uint32_t *bucket = tables.hash + 2, *chain = bucket + buckets;
  std::uint32_t steps = 0;
  for (std::uint32_t index = bucket[system_v_hash_of(name) % buckets]; index != STN_UNDEF && steps < symbols;
       index = chain[index], ++steps)
    definitions.add(index);
}

/// This object stands near the beginning of the list and is never unloaded.
const link_map* own_map() {
  const link_map* map = _r_debug.r_map;
  while (map && map->l_ld != _DYNAMIC) map = map->l_next;
  return map;
}

using LookUp = void*(void* handle, const char* name);

/// Since glibc 2.34 the function is in libc.so.6, before that in libdl.so.2.
LookUp* look_up_of_libc() {
  for (const char* library : {"libc.so.6", "libdl.so.2"})
    for (const link_map* map = _r_debug.r_map; map; map = map->l_next) {
      const char* slash = std::strrchr(map->l_name, '/');
      if (std::strcmp(slash ? slash + 1 : map->l_name, library) != 0) continue;
      if (void* found = function_of(object_of(*map), "dlsym")) return reinterpret_cast<LookUp*>(found);
    }
  return nullptr;
}

std::atomic<LookUp*> look_up{nullptr};

}  // namespace

LoadedObject object_of(const dl_phdr_info& info) {
  LoadedObject object{info.dlpi_addr, nullptr};
  for (int i = 0; i < info.dlpi_phnum; ++i)
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
      object.dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
  return object;
}

void* function_of(const LoadedObject& object, const char* name) {
  const SymbolTables tables(object);
  if (!tables.are_there()) return nullptr;
  Definitions definitions(tables, name);
  if (tables.gnu_hash) look_up_by_gnu_hash(tables, name, definitions);
  else look_up_by_hash(tables, name, definitions);
  return definitions.best() ? reinterpret_cast<void*>(object.base + definitions.best()->st_value) : nullptr;
}

void* next_function_of_process(const char* name) {
  const link_map* own = own_map();
  for (const link_map* map = own ? own->l_next : nullptr; map; map = map->l_next)
    if (void* found = function_of(object_of(*map), name)) return found;
  for (const link_map* map = _r_debug.r_map; map && map != own; map = map->l_next)
    if (void* found = function_of(object_of(*map), name)) return found;
  return nullptr;
}

LoadedObject own_object() {
  const link_map* own = own_map();
  return own ? object_of(*own) : LoadedObject{0, nullptr};
}

void* find_symbol(void* handle, const char* name) {
  LookUp* function = look_up.load(std::memory_order_relaxed);
  if (!function) {
    function = look_up_of_libc();
    if (!function) return nullptr;
    look_up.store(function, std::memory_order_relaxed);
  }
  // Not a tail call: RTLD_NEXT and RTLD_DEFAULT begin at the object that the call returns to.
  void* volatile found = function(handle, name);
  return found;
}

}  // namespace refrain::platform
