#include "tools/supervise.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/start.hpp"

namespace refrain::tools {
namespace {

constexpr int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};

/// Becomes the command. A failure is reported to the parent through `report`.
[[noreturn]] void be_command(const std::vector<std::string>& command, pid_t parent, const sigset_t& mask,
                             const struct sigaction& on_child, int report) {
  sigaction(SIGCHLD, &on_child, nullptr);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) raise(SIGKILL);
  const int code = become(command);
  [[maybe_unused]] const ssize_t told = write(report, "", 1);
  _exit(code);
}

/// A process of the same group that only records the signals it gets: those were sent to the whole group.
class Canary {
 public:
  explicit Canary(const sigset_t& watched) {
    int questions[2], answers[2];
    if (pipe2(questions, O_CLOEXEC) != 0) return;
    if (pipe2(answers, O_CLOEXEC) != 0) {
      close(questions[0]);
      close(questions[1]);
      return;
    }
    process_ = fork();
    if (process_ == 0) {
      dup2(questions[0], 0);
      dup2(answers[1], 1);
      close_range(2, ~0u, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      be_canary(watched);
    }
    close(questions[0]);
    close(answers[1]);
    ask_ = questions[1];
    told_ = answers[0];
  }
  ~Canary() {
    if (ask_ >= 0) close(ask_);
    if (told_ >= 0) close(told_);
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Canary(const Canary&) = delete;
  Canary& operator=(const Canary&) = delete;

  /// Whether the canary also got `signal` since it was last asked about it. The answer does not depend on the load of
  /// the machine: the kernel marks the signal pending in both processes before either of them runs again.
  bool got(int signal) const {
    constexpr int patience_ms = 10'000;
    const auto question = static_cast<char>(signal);
    char answer = 0;
    pollfd ready = {told_, POLLIN, 0};
    if (process_ <= 0 || write(ask_, &question, 1) != 1) return false;
    return poll(&ready, 1, patience_ms) > 0 && read(told_, &answer, 1) == 1 && answer == 1;
  }

 private:
  /// Runs until the parent has ended. The signals are blocked, so each stays pending until it is asked for.
  [[noreturn]] static void be_canary(const sigset_t& watched) {
    char signal = 0;
    while (read(0, &signal, 1) == 1) {
      sigset_t one;
      sigemptyset(&one);
      sigaddset(&one, signal);
      const timespec now = {};
      const char got = sigismember(&watched, signal) == 1 && sigtimedwait(&one, nullptr, &now) == signal;
      if (write(1, &got, 1) != 1) break;
    }
    _exit(0);
  }

  pid_t process_ = -1;
  int ask_ = -1, told_ = -1;
};

/// Waits until the command has ended; returns its status.
int wait_for(pid_t child, const sigset_t& watched, const Canary& canary) {
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return 0;
    siginfo_t info;
    const int signal = sigwaitinfo(&watched, &info);
    if (signal <= 0 || signal == SIGCHLD) continue;
    // Signals from the terminal, or from another process to the whole group, have reached the command already.
    if (const bool all_know = canary.got(signal); !all_know && info.si_code <= 0) kill(child, signal);
  }
}

}  // namespace

CommandEnd run_and_wait(const std::vector<std::string>& command) {
  int report[2];
  sigset_t watched, mask;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  for (const int signal : passed_on) sigaddset(&watched, signal);
  struct sigaction by_default = {}, on_child;
  sigaction(SIGCHLD, &by_default, &on_child);  // some parents leave it ignored: there would be no exit status
  sigprocmask(SIG_BLOCK, &watched, &mask);
  const pid_t parent = getpid();
  pid_t child = -1;
  if (pipe2(report, O_CLOEXEC) == 0) child = fork();
  if (child == 0) be_command(command, parent, mask, on_child, report[1]);
  CommandEnd end;
  if (child < 0) {
    say("refrain: no process for the command: {}", std::strerror(errno));
    end.exit_code = exit_not_executable;
    return end;
  }
  close(report[1]);
  char failed;
  end.started = read(report[0], &failed, 1) == 0;
  close(report[0]);
  int status;
  {
    const Canary canary(watched);
    status = wait_for(child, watched, canary);
  }
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  else end.exit_code = WEXITSTATUS(status);
  return end;
}

int end_alike(const CommandEnd& end) {
  if (end.signal == 0) return end.exit_code;
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);  // the command has dumped core if it should
  signal(end.signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, end.signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  fflush(nullptr);
  raise(end.signal);
  constexpr int shells_offset = 128;
  return shells_offset + end.signal;
}

}  // namespace refrain::tools
