#include "platform/call_target.hpp"

#include <cstdint>
#include <cstring>
#include <dlfcn.h>

namespace refrain::platform {
namespace {

using Code = const unsigned char*;

Code relative(Code after, Code field) {
  std::int32_t distance;
  std::memcpy(&distance, field, sizeof distance);
  return after + distance;
}

/// In a segment of a loaded module. What looks like a call may be the end of another instruction, and name any address.
bool is_loaded(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0;
}

/// What a slot of the global offset table holds, which the instruction that ends at `after` names.
const void* in_slot(Code after) {
  const Code slot = relative(after, after - 4);
  if (!is_loaded(slot)) return nullptr;
  const void* target;
  std::memcpy(&target, slot, sizeof target);
  return target;
}

/// [endbr64] [bnd] jmp *slot(%rip): an entry of the procedure linkage table.
const void* through_linkage_table(Code at) {
  if (!is_loaded(at)) return nullptr;
  constexpr unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
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
