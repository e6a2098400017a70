#pragma once
/// What costs most in a run, in a few lines, without being asked: at the end of `refrain run` and in `refrain report`.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/report/report.hpp"

namespace refrain::tools {

struct FirstFindings {
  std::vector<std::string> lines;  ///< largest first, at most three
  bool is_done = true;  ///< false: the events are too many to be searched in that time, or could not be searched
  std::optional<report::PathWaits> waits;  ///< of call paths; nothing: there are no events, or it is not done
};

/// What a signal that asks this process to end does during the search.
enum class OnSignal : std::uint8_t {
  EndsProcess,
  EndsSearch  ///< and nothing else
};

struct WantedFindings {
  analysis::CallTreeOptions tree = {};  ///< by which options call paths are told apart
  bool waits_by_rank = false;
};

/// Searches the events of an experiment, at most for so long, in a process of its own: whatever goes wrong there, the
/// caller only has no lines. Without events there are none.
FirstFindings first_findings(const std::string& experiment, std::chrono::milliseconds most, OnSignal on_signal,
                             const WantedFindings& wanted = {});

}  // namespace refrain::tools
