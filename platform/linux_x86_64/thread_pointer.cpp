#include "platform/thread_pointer.hpp"

#include <sys/auxv.h>

namespace refrain::platform {

bool has_thread_pointer() {
  constexpr unsigned long fsgsbase = 1ul << 1;  // HWCAP2_FSGSBASE of the kernel's asm/hwcap2.h
  return getauxval(AT_HWCAP2) & fsgsbase;
}

}  // namespace refrain::platform
