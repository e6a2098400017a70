#pragma once
/// What these programs print. Nothing else in tools/ or offline/ writes to standard output or standard error.
///
/// Standard error: say() never throws and never ends the process. A standard error that is closed, on a full disk or
/// without a reader loses the line; exit codes stay, and so does the program that `refrain exec` is about to become.
///
/// Standard output: show() throws OutputFailed when it cannot be written, which no handler for std::exception catches.
/// run_tool() then ends with exit code 1 and one line.

#include <fmt/format.h>
#include <functional>
#include <string_view>
#include <utility>

#include "offline/experiment/clean_text.hpp"

namespace refrain::tools {

/// Standard output cannot be written; errno value. Not an std::exception: only run_tool() handles it.
struct OutputFailed {
  int error;
};

/// Writes `text` as it is to standard error, in one system call where possible. SIGPIPE does not come of it.
void write_to_stderr(std::string_view text) noexcept;

/// Buffered. Throws OutputFailed.
void write_to_stdout(std::string_view text);
/// Empties the buffer. Throws OutputFailed.
void flush_stdout();

/// One line on standard error; the end of the line is added. Names in it may come from files that anybody has written:
/// control characters are replaced.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) noexcept {
  try {
    write_to_stderr(experiment::clean_lines(fmt::format(format, std::forward<Args>(args)...)) + '\n');
  } catch (...) {  // no memory for a line: there is none
  }
}

/// Text on standard output, as fmt::print. Throws OutputFailed.
template <class... Args>
void show(fmt::format_string<Args...> format, Args&&... args) {
  write_to_stdout(fmt::format(format, std::forward<Args>(args)...));
}

/// What main does: runs `tool`, whose result is the exit code, and empties standard output. `name` begins the line of
/// an output that cannot be written, and of an exception that nothing else has handled.
///
/// Descriptors 0, 1 and 2 that are closed get a placeholder first, which fails as a closed one does and is closed on
/// exec. Otherwise the next file would get that number, and what is printed would land in it.
int run_tool(const char* name, const std::function<int()>& tool) noexcept;

}  // namespace refrain::tools
