#pragma once
/// A progress line on the terminal. It appears after one second and is erased at the end.

#include <chrono>
#include <string>
#include <unistd.h>
#include <utility>

#include "tools/console.hpp"

namespace refrain::tools {

class ProgressLine {
 public:
  ~ProgressLine() { end(); }
  ProgressLine() = default;
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Calls `text` for the text when it is time to show one.
  template <class Text>
  void show(const Text& text) {
    const auto now = Clock::now();
    if (!interactive_ || now - begin_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    is_shown_ = true;
    write_to_stderr(fmt::format("\r{}\033[K", text()));
  }
  /// Callbacks that show the progress of an event search and of a name lookup. `of` precedes the text.
  auto searching(std::string of = {}) {
    return [this, of = std::move(of)](double share) {
      show([&] { return fmt::format("{}searching events: {:.0f} %", of, 100 * share); });
    };
  }
  auto naming(std::string of = {}) {
    return [this, of = std::move(of)](std::size_t done, std::size_t all) {
      show([&] { return fmt::format("{}{} of {} names", of, done, all); });
    };
  }
  void end() {
    if (is_shown_) write_to_stderr("\r\033[K");
    is_shown_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const bool interactive_ = isatty(STDERR_FILENO) == 1;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point last_{};
  bool is_shown_ = false;
};

}  // namespace refrain::tools
