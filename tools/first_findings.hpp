#pragma once
/// What stands out of a run, in a few lines, without being asked: at the end of `refrain run` and in `refrain report`.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/report/report.hpp"

namespace refrain::tools {

/// How far a search has come.
enum class Step : std::uint8_t {
  None,     ///< it could not be started, or the profile alone takes too long
  Profile,  ///< of the events not all was searched: they are too many, or damaged
  All
};

struct FirstFindings {
  std::vector<findings::Finding> all;  ///< largest first
  Step done = Step::None;
  std::optional<report::PathWaits> waits;       ///< of call paths; nothing: there are no events, or not all is done
  std::optional<report::EventTraffic> traffic;  ///< where it was asked for, likewise
};

/// What a signal that asks this process to end does during the search.
enum class OnSignal : std::uint8_t {
  EndsProcess,
  EndsSearch  ///< and nothing else
};

struct WantedFindings {
  analysis::CallTreeOptions tree = {};  ///< by which options call paths are told apart
  bool waits_by_rank = false, traffic = false;
  bool of_profile = true;  ///< also what the profile tells; else waiting alone
};

/// The search, from its start on: the caller does something else meanwhile.
class FindingsSearch {
 public:
  FindingsSearch(const std::string& experiment, std::chrono::milliseconds most, OnSignal on_signal,
                 const WantedFindings& wanted = {});
  ~FindingsSearch();
  FindingsSearch(const FindingsSearch&) = delete;
  FindingsSearch& operator=(const FindingsSearch&) = delete;
  /// Once.
  FirstFindings wait();

 private:
  struct Searcher;
  void end();
  bool is_too_large_ = false;
  std::unique_ptr<Searcher> searcher_;
};

/// Searches the profile of an experiment, and its events, at most for so long, in a process of its own: whatever goes
/// wrong there, the caller only has no lines.
FirstFindings first_findings(const std::string& experiment, std::chrono::milliseconds most, OnSignal on_signal,
                             const WantedFindings& wanted = {});

}  // namespace refrain::tools
