#pragma once
/// Output of these programs. Nothing else in tools/ or offline/ writes to standard output or standard error.
///
/// Standard error: say() never throws and never ends the process. If standard error is closed, on a full disk or
/// without a reader, the line is lost, but the exit code is unchanged and `refrain exec` still becomes the program.
///
/// Standard output: show() throws OutputFailed if it cannot write; handlers for std::exception do not catch that.
/// run_tool() then returns exit code 1 and prints one line.

#include <fmt/format.h>
#include <functional>
#include <string_view>
#include <utility>

#include "offline/experiment/clean_text.hpp"

namespace refrain::tools {

/// Standard output could not be written; `error` is the errno value. Not an std::exception: only run_tool() handles it.
struct OutputFailed {
  int error;
};

/// Writes `text` unchanged to standard error, in one system call where possible. Never raises SIGPIPE.
void write_to_stderr(std::string_view text) noexcept;

/// Buffered write to standard output. Throws OutputFailed.
void write_to_stdout(std::string_view text);
/// Flushes the buffer. Throws OutputFailed.
void flush_stdout();

/// Writes one line to standard error and adds the newline. Names in it may come from untrusted files, so control
/// characters are replaced.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) noexcept {
  try {
    write_to_stderr(experiment::clean_lines(fmt::format(format, std::forward<Args>(args)...)) + '\n');
  } catch (...) {  // out of memory: the line is dropped
  }
}

/// Writes text to standard output, like fmt::print. Throws OutputFailed.
template <class... Args>
void show(fmt::format_string<Args...> format, Args&&... args) {
  write_to_stdout(fmt::format(format, std::forward<Args>(args)...));
}

/// Body of main: runs `tool`, whose result is the exit code, and flushes standard output. `name` is the prefix of the
/// line about an output that cannot be written or an unhandled exception.
///
/// If descriptor 0, 1 or 2 is closed, a placeholder is opened first; it fails like a closed descriptor and is closed on
/// exec. Otherwise the next file to be opened would get that number, and output would land in it.
int run_tool(const char* name, const std::function<int()>& tool) noexcept;

}  // namespace refrain::tools
