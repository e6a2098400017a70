#include "adapters/mpi/missing.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include "platform/message.hpp"

namespace refrain::adapters::mpi {

void end_without_function(const char* name) {
  constexpr int symbol_not_found = 127;
  platform::say(
      "the program calls %s, but no MPI library in this process has it; the program ends here ('refrain doctor "
      "PROGRAM' says what is missing)",
      name);
  syscall(SYS_exit_group, symbol_not_found);
  __builtin_unreachable();
}

}  // namespace refrain::adapters::mpi
