#include "tools/console.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <fcntl.h>
#include <unistd.h>

#include "tools/exit_codes.hpp"

namespace refrain::tools {
namespace {

/// While it exists, a write to a pipe without a reader fails with EPIPE and sends this thread no signal.
class NoBrokenPipeSignal {
 public:
  NoBrokenPipeSignal() noexcept {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGPIPE);
    sigset_t pending;
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoBrokenPipeSignal() {
    const timespec now = {};
    if (!was_pending_)
      while (sigtimedwait(&signal_, nullptr, &now) < 0 && errno == EINTR) {
      }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
  NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;

 private:
  sigset_t signal_, before_;
  bool was_pending_;
};

/// Opens placeholders for closed standard descriptors: reading and writing fail with EBADF, as on a closed descriptor.
void occupy_standard_descriptors() noexcept {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // Either open() returns the lowest free number, which is this one.
    if (open("/dev/null", O_PATH | O_CLOEXEC) < 0) (void)!open("/", O_PATH | O_CLOEXEC);
  }
}

}  // namespace

void write_to_stderr(std::string_view text) noexcept {
  const int saved = errno;
  const NoBrokenPipeSignal no_signal;
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  errno = saved;
}

void write_to_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw OutputFailed{errno};
}

void flush_stdout() {
  if (std::fflush(stdout) != 0) throw OutputFailed{errno};
}

int run_tool(const char* name, const std::function<int()>& tool) noexcept {
  occupy_standard_descriptors();
  try {
    const int code = tool();
    flush_stdout();
    return code;
  } catch (const OutputFailed& failed) {
    say("{}: standard output: {}", name, std::strerror(failed.error));
    return exit_usage;
  } catch (const std::exception& error) {
    say("{}: {}", name, error.what());
    return exit_unreadable;
  }
}

}  // namespace refrain::tools
