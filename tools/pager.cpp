#include "tools/pager.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/console.hpp"

namespace refrain::tools {
namespace {

/// Number of lines of the terminal; 0: there is no terminal.
std::size_t terminal_lines() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_row;
}

/// Whether PATH has the program: small systems have no pager.
bool is_in_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream parts(path ? path : "");
  for (std::string part; std::getline(parts, part, ':');)
    if (access((part.empty() ? program : part + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

/// The pager to use; empty: none.
std::string wanted_pager() {
  for (const char* name : {"REFRAIN_PAGER", "PAGER"})
    if (const char* value = std::getenv(name)) return std::strcmp(value, "cat") == 0 ? std::string() : value;
  return is_in_path("less") ? "less" : "";
}

/// Shows the text in the pager. False: it could not be started.
bool page(const std::string& pager, const std::string& text) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  flush_stdout();
  const pid_t reader = fork();
  if (reader == 0) {
    dup2(ends[0], STDIN_FILENO);
    setenv("LESS", "FRX", 0);
    execl("/bin/sh", "sh", "-c", pager.c_str(), nullptr);
    _exit(127);
  }
  close(ends[0]);
  if (reader < 0) {
    close(ends[1]);
    return false;
  }
  // A user who quits the pager early has seen enough (SIGPIPE); an interrupt is the pager's to handle (SIGINT).
  const auto broken = std::signal(SIGPIPE, SIG_IGN);
  const auto interrupted = std::signal(SIGINT, SIG_IGN);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(ends[1], text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  close(ends[1]);
  int status = 0;
  while (waitpid(reader, &status, 0) < 0 && errno == EINTR) {
  }
  std::signal(SIGPIPE, broken);
  std::signal(SIGINT, interrupted);
  constexpr int not_found = 127, not_executable = 126;
  if (WIFSIGNALED(status)) {  // killed by the user: seen enough; crashed: nothing shown
    const int signal = WTERMSIG(status);
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGPIPE || signal == SIGKILL;
  }
  return !WIFEXITED(status) || (WEXITSTATUS(status) != not_found && WEXITSTATUS(status) != not_executable);
}

}  // namespace

void print_by_pages(const std::string& text) {
  const std::size_t lines = terminal_lines();
  const bool is_longer = lines > 0 && static_cast<std::size_t>(std::ranges::count(text, '\n')) >= lines;
  const std::string pager = is_longer ? wanted_pager() : std::string();
  if (pager.empty() || !page(pager, text)) write_to_stdout(text);
}

}  // namespace refrain::tools
