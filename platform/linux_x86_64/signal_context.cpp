#include "platform/signal_context.hpp"

#include <ucontext.h>

namespace refrain::platform {

Registers interrupted_registers(const void* context) {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return {static_cast<std::uintptr_t>(registers[REG_RIP]), static_cast<std::uintptr_t>(registers[REG_RSP]),
          static_cast<std::uintptr_t>(registers[REG_RBP])};
}

}  // namespace refrain::platform
