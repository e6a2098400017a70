#include "platform/switch_watch.hpp"

#include <cstddef>
#include <dlfcn.h>
#include <linux/rseq.h>

// The kernel looks at the description whenever it finds the field set, and wants to see the signature of the
// registration before the abort address, as for any sequence. Nothing ever comes here: the first instruction is never
// executed, so no thread is ever found between it and the end.
extern "C" {
extern const char refrain_no_sequence_begin[] __attribute__((visibility("hidden")));
extern const char refrain_no_sequence_end[] __attribute__((visibility("hidden")));
extern const char refrain_no_sequence_abort[] __attribute__((visibility("hidden")));
}
asm(R"(
  .pushsection .text.refrain_no_sequence, "ax", @progbits
refrain_no_sequence_begin:
  nop
refrain_no_sequence_end:
  .byte 0x0f, 0xb9, 0x3d
  .long 0x53053053
refrain_no_sequence_abort:
  ud2
  .popsection
)");

namespace refrain::platform {
namespace {

rseq_cs no_sequence{};

/// Where the structure of the calling thread lies, null: none is registered.
rseq* own_structure() {
  // Symbols of glibc 2.35; looked up, so that an older one can load the runtime.
  static const auto* size = static_cast<const unsigned*>(dlsym(RTLD_DEFAULT, "__rseq_size"));
  static const auto* offset = static_cast<const std::ptrdiff_t*>(dlsym(RTLD_DEFAULT, "__rseq_offset"));
  if (!size || !offset || *size == 0) return nullptr;
  return reinterpret_cast<rseq*>(static_cast<char*>(__builtin_thread_pointer()) + *offset);
}

}  // namespace

void SwitchWatch::attach() {
  field_ = nullptr;
  rseq* structure = own_structure();
  if (!structure) return;
  no_sequence.start_ip = reinterpret_cast<std::uintptr_t>(refrain_no_sequence_begin);
  no_sequence.post_commit_offset = static_cast<std::uint64_t>(refrain_no_sequence_end - refrain_no_sequence_begin);
  no_sequence.abort_ip = reinterpret_cast<std::uintptr_t>(refrain_no_sequence_abort);
  flag_ = reinterpret_cast<std::uintptr_t>(&no_sequence);
  field_ = reinterpret_cast<volatile std::uint64_t*>(&structure->rseq_cs);
}

void SwitchWatch::detach() {
  if (holds()) *field_ = 0;
  field_ = nullptr;
}

}  // namespace refrain::platform
