#include "platform/call_target.hpp"

#include <cstdint>
#include <cstring>
#include <link.h>

namespace refrain::platform {
namespace {

using Code = const unsigned char*;

Code relative(Code after, Code field) {
  std::int32_t distance;
  std::memcpy(&distance, field, sizeof distance);
  return after + distance;
}

/// Whether these bytes are in a readable segment of a loaded module. What looks like a call may be the end of another
/// instruction and name any address. `dladdr` does not tell, because it counts the holes between segments, which cannot
/// be read, as parts of the module.
bool is_loaded(const void* address, std::size_t size) {
  struct Wanted {
    std::uintptr_t begin, end;
  } wanted{reinterpret_cast<std::uintptr_t>(address), reinterpret_cast<std::uintptr_t>(address) + size};
  return dl_iterate_phdr(
             [](dl_phdr_info* info, std::size_t, void* data) {
               const auto& bytes = *static_cast<const Wanted*>(data);
               for (int i = 0; i < info->dlpi_phnum; ++i) {
                 const auto& header = info->dlpi_phdr[i];
                 const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
                 if (header.p_type == PT_LOAD && (header.p_flags & PF_R) && begin <= bytes.begin &&
                     bytes.end <= begin + header.p_memsz)
                   return 1;
               }
               return 0;
             },
             &wanted) != 0;
}

/// The content of a slot of the global offset table, which is named by the instruction that ends at `after`.
const void* in_slot(Code after) {
  const Code slot = relative(after, after - 4);
  if (!is_loaded(slot, sizeof(void*))) return nullptr;
  const void* target;
  std::memcpy(&target, slot, sizeof target);
  return target;
}

/// [endbr64] [bnd] jmp *slot(%rip): an entry of the procedure linkage table.
const void* through_linkage_table(Code at) {
  constexpr unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  constexpr std::size_t longest_entry = sizeof endbr64 + 1 + 6;
  if (!is_loaded(at, longest_entry)) return is_loaded(at, 1) ? at : nullptr;
  Code entry = at;
  if (std::memcmp(entry, endbr64, sizeof endbr64) == 0) entry += sizeof endbr64;
  if (*entry == 0xf2) ++entry;
  return entry[0] == 0xff && entry[1] == 0x25 ? in_slot(entry + 6) : at;
}

}  // namespace

const void* call_target(const void* return_address) {
  const auto after = static_cast<Code>(return_address);
  if (after[-6] == 0xff && after[-5] == 0x15) return in_slot(after);                // call *slot(%rip)
  if (after[-5] == 0xe8) return through_linkage_table(relative(after, after - 4));  // call
  return nullptr;
}

}  // namespace refrain::platform
