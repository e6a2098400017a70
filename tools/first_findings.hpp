#pragma once
/// What costs most in a run, in a few lines, without being asked: at the end of `refrain run` and in `refrain report`.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace refrain::tools {

struct FirstFindings {
  std::vector<std::string> lines;  ///< largest first, at most three
  bool is_done = true;             ///< false: the events are too many to be searched in that time
};

/// What a signal that asks this process to end does during the search.
enum class OnSignal : std::uint8_t {
  EndsProcess,
  EndsSearch  ///< and nothing else
};

/// Searches the events of an experiment, at most for so long, in a process of its own: whatever goes wrong there, the
/// caller only has no lines. Without events there are none.
FirstFindings first_findings(const std::string& experiment, std::chrono::milliseconds most, OnSignal on_signal);

}  // namespace refrain::tools
