#include "tools/keep_names.hpp"

#include <cerrno>
#include <csignal>
#include <exception>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offline/symbols/experiment_names.hpp"
#include "tools/held_signals.hpp"

namespace refrain::tools {
namespace {

/// Limit on data memory. The debug information of a large program is mapped and does not count.
constexpr rlim_t most_memory_for_names = rlim_t{1} << 30;

[[noreturn]] void look_up_names(const std::string& directory, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const rlimit none{0, 0}, data{most_memory_for_names, most_memory_for_names};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_DATA, &data);
  if (const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  try {
    const auto experiment = experiment::Experiment::open(directory);
    symbols::Symbolizer symbolizer;
    symbols::use_names(*experiment, symbolizer, {.has_ended = true});
  } catch (const std::exception&) {
    _exit(1);
  }
  _exit(0);
}

/// Waits until the other end of the pipe is closed or the time is over. False: `stop` is readable.
bool wait_for_end(int end, int stop, std::chrono::milliseconds most) {
  const auto deadline = std::chrono::steady_clock::now() + most;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd ready[] = {{end, POLLIN, 0}, {stop, POLLIN, 0}};
    const int got = poll(ready, 2, left > 0 ? static_cast<int>(left) : 0);
    if (got >= 0 || errno != EINTR) return got <= 0 || ready[1].revents == 0;
  }
}

}  // namespace

NamesEnd keep_names(const std::string& experiment, std::chrono::milliseconds most) {
  int end[2];
  if (pipe2(end, O_CLOEXEC) != 0) return NamesEnd::Unknown;
  const HeldSignals held;
  const pid_t parent = getpid(), process = fork();
  if (process == 0) {
    held.release();
    look_up_names(experiment, parent);
  }
  close(end[1]);
  bool is_quiet = true;
  int status = -1;
  if (process > 0) {
    is_quiet = wait_for_end(end[0], held.descriptor(), most);
    kill(process, SIGKILL);
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
  }
  close(end[0]);
  if (!is_quiet) return NamesEnd::Interrupted;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NamesEnd::Known : NamesEnd::Unknown;
}

}  // namespace refrain::tools
