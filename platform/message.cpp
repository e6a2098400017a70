#include "platform/message.hpp"

#include <cstddef>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/errno_keeper.hpp"
#include "platform/own_signal.hpp"

namespace refrain::platform {
namespace {

struct stat first_stderr;
bool had_stderr = false;

/// Descriptor 2 may by now be a data file of the program.
bool stderr_is_the_first_one() {
  struct stat now;
  return had_stderr && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == first_stderr.st_dev &&
         now.st_ino == first_stderr.st_ino;
}

}  // namespace

void remember_stderr() { had_stderr = fstat(STDERR_FILENO, &first_stderr) == 0; }

void say(const char* format, ...) {
  const ErrnoKeeper errno_keeper;
  if (!stderr_is_the_first_one()) return;
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
  const OwnSignalBlocker blocker(SIGPIPE);  // the reader of stderr may be gone
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<std::size_t>(n));
}

}  // namespace refrain::platform
