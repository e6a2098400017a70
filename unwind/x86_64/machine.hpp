#pragma once
/// What the unwinder knows about this processor and its ABI (System V psABI, AMD64, section 3.6.2, figure 3.36).

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ucontext.h>

namespace refrain::unwind::machine {

/// DWARF register numbers.
inline constexpr unsigned frame_pointer = 6;
inline constexpr unsigned stack_pointer = 7;
inline constexpr unsigned return_address = 16;
inline constexpr unsigned register_count = 17;

/// Bytes below the stack pointer that a signal handler leaves alone: an epilogue's saved registers may lie there.
inline constexpr std::uintptr_t red_zone = 128;
/// A call pushes the return address just below the CFA.
inline constexpr std::int64_t return_address_offset = -8;

/// Index in the kernel's register block (REG_* of <sys/ucontext.h>) of each DWARF register.
inline constexpr std::uint8_t context_register[register_count] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                                  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                                  REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

/// Distance from the start of a ucontext to that register. The stack pointer in the signal trampoline is the address of
/// the interrupted context: the handler's return has popped the word below it.
constexpr std::uintptr_t offset_in_context(unsigned dwarf_register) {
  return offsetof(ucontext_t, uc_mcontext.gregs) + sizeof(greg_t) * context_register[dwarf_register];
}

/// True for the code that calls rt_sigreturn: the frame is laid out by the kernel. `code` must be readable.
inline bool is_signal_trampoline(std::uintptr_t code) {
  static constexpr unsigned char restore[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
  return std::memcmp(reinterpret_cast<const void*>(code), restore, sizeof restore) == 0;
}
inline constexpr std::uintptr_t signal_trampoline_size = 9;

enum class CallBefore : std::uint8_t {
  None,
  Direct,    ///< to an address within 2 GiB, known when the code was linked or generated
  Indirect,  ///< through a register or memory
};

/// Which kind of call instruction ends at `address`. Reads up to 7 bytes below it, not below `lowest`.
inline CallBefore call_before(std::uintptr_t address, std::uintptr_t lowest) {
  const auto* end = reinterpret_cast<const unsigned char*>(address);
  const std::uintptr_t room = address - lowest;
  for (int length = 2; length <= 7 && room >= static_cast<std::uintptr_t>(length); ++length) {
    if (end[-length] != 0xff) continue;  // call r/m64: ff /2
    const unsigned char modrm = end[-length + 1];
    if (((modrm >> 3) & 7) != 2) continue;
    const unsigned mode = modrm >> 6, base = modrm & 7;
    int expected = 2;
    if (mode != 3 && base == 4) ++expected;  // a SIB byte follows
    if (mode == 1) expected += 1;
    if (mode == 2 || (mode == 0 && base == 5)) expected += 4;
    if (mode == 0 && base == 4 && length >= 3 && (end[-length + 2] & 7) == 5) expected += 4;
    if (expected == length) return CallBefore::Indirect;
  }
  return room >= 5 && end[-5] == 0xe8 ? CallBefore::Direct : CallBefore::None;  // call rel32
}

/// The registers that a called function preserves, here, by DWARF number; the others are 0. Always inlined, so that the
/// program counter lies in the calling function.
[[gnu::always_inline]] inline void capture_registers(std::uintptr_t (&registers)[register_count]) {
  std::memset(registers, 0, sizeof registers);
  asm volatile(
      "movq %%rbx, 24(%0)\n\t"
      "movq %%rbp, 48(%0)\n\t"
      "movq %%rsp, 56(%0)\n\t"
      "movq %%r12, 96(%0)\n\t"
      "movq %%r13, 104(%0)\n\t"
      "movq %%r14, 112(%0)\n\t"
      "movq %%r15, 120(%0)\n\t"
      "leaq 0(%%rip), %%rax\n\t"
      "movq %%rax, 128(%0)"
      :
      : "r"(registers)
      : "rax", "memory");
}

}  // namespace refrain::unwind::machine
