#include "platform/switch_watch.hpp"

#include <atomic>
#include <cstddef>
#include <dlfcn.h>
#include <linux/rseq.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "platform/errno_keeper.hpp"
#include "platform/symbols.hpp"

// The kernel reads the description whenever it finds the field set, and checks the signature of the registration before
// the abort address, as for any sequence. The sequence is never entered: its first instruction is never executed, so no
// thread is ever found between it and the end.
extern "C" {
extern const rseq_cs refrain_no_sequence __attribute__((visibility("hidden")));
}
asm(R"(
  .pushsection .text.refrain_no_sequence, "ax", @progbits
1:
  nop
2:
  .byte 0x0f, 0xb9, 0x3d
  .long 0x53053053
3:
  ud2
  .popsection
  .pushsection .data.rel.ro, "aw", @progbits
  .balign 32
  .hidden refrain_no_sequence
  .globl refrain_no_sequence
  .type refrain_no_sequence, @object
  .size refrain_no_sequence, 32
refrain_no_sequence:
  .long 0, 0
  .quad 1b, 2b - 1b, 3b
  .popsection
)");

namespace refrain::platform {
namespace {

/// The structure of the calling thread; null: none is registered.
rseq* own_structure() {
  // Symbols of glibc 2.35; looked up, so that an older one can load the runtime.
  static const auto* size = static_cast<const unsigned*>(find_symbol(RTLD_DEFAULT, "__rseq_size"));
  static const auto* offset = static_cast<const std::ptrdiff_t*>(find_symbol(RTLD_DEFAULT, "__rseq_offset"));
  if (!size || !offset || *size == 0) return nullptr;
  return reinterpret_cast<rseq*>(static_cast<char*>(__builtin_thread_pointer()) + *offset);
}

/// How often the thread has given up its processor voluntarily.
long own_switches() {
  rusage usage{};
  syscall(SYS_getrusage, RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

enum class Known : int { Nothing, Works, DoesNot };
std::atomic<Known> known{Known::Nothing};

}  // namespace

bool is_cleared_by_a_switch(volatile std::uint64_t& field, std::uint64_t flag) {
  constexpr timespec nap{0, 50'000};
  const ErrnoKeeper errno_keeper;
  bool is_cleared = false;
  for (int tries = 0; tries < 10; ++tries) {
    const long before = own_switches();
    field = flag;
    syscall(SYS_nanosleep, &nap, nullptr);
    is_cleared = field != flag;
    if (own_switches() != before) break;  // otherwise it has not slept: a signal came first, or the time was over
  }
  if (!is_cleared) field = 0;
  return is_cleared;
}

void SwitchWatch::attach() {
  field_ = nullptr;
  ++number_;
  rseq* structure = own_structure();
  if (!structure) return;
  flag_ = reinterpret_cast<std::uintptr_t>(&refrain_no_sequence);
  auto* field = reinterpret_cast<volatile std::uint64_t*>(&structure->rseq_cs);
  if (known.load(std::memory_order_relaxed) == Known::Nothing && !*field)
    known.store(is_cleared_by_a_switch(*field, flag_) ? Known::Works : Known::DoesNot, std::memory_order_relaxed);
  if (known.load(std::memory_order_relaxed) != Known::DoesNot) field_ = field;
}

void SwitchWatch::detach() {
  if (field_ && *field_ == flag_) *field_ = 0;
  field_ = nullptr;
}

}  // namespace refrain::platform
