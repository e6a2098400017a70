#include "adapters/mpi/calls/missing.hpp"

#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

#include "measurement/lifecycle.hpp"

namespace refrain::adapters::mpi {

void end_without_function(const char* name) {
  constexpr int symbol_not_found = 127;
  char line[256];
  std::size_t size = 0;
  const auto append = [&](const char* text) {
    const std::size_t length = std::strlen(text), room = sizeof line - 1 - size;
    std::memcpy(line + size, text, length < room ? length : room);
    size += length < room ? length : room;
  };
  append("the program calls ");
  append(name);
  append(
      ", but no MPI library in this process has it; the program ends here ('refrain doctor PROGRAM' says what is "
      "missing)");
  line[size] = 0;
  if (measurement::say) measurement::say(line);
  syscall(SYS_exit_group, symbol_not_found);
  __builtin_unreachable();
}

}  // namespace refrain::adapters::mpi
