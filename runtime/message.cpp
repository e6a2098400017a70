#include "runtime/message.hpp"

#include <cstddef>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

namespace refrain::runtime {

void say(const char* format, ...) {
  const int saved = errno;
  char line[1024] = "refrain: ";
  constexpr int prefix = 9;
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(line + prefix, sizeof line - prefix - 1, format, arguments);
  va_end(arguments);
  if (n < 0) n = 0;
  n += prefix;
  if (n > static_cast<int>(sizeof line) - 2) n = sizeof line - 2;
  line[n++] = '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<std::size_t>(n));
  errno = saved;
}

}  // namespace refrain::runtime
