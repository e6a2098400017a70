#pragma once
/// The partners with which call paths exchange messages, and the communicators on which they spend their time, in the
/// events that were kept.

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "offline/patterns/path_waits.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::patterns {

class TrafficCount {
 public:
  /// The trace must be of an experiment, and must outlive this object.
  explicit TrafficCount(const trace::Trace& trace) : trace_(trace), open_(trace.locations().size()) {}
  /// To be called with every event of the trace, in order of time.
  void add(const trace::Event& event);
  Traffic result() const;

 private:
  /// A call in progress.
  struct OpenCall {
    std::int64_t begin_ns = 0;
    std::vector<std::int32_t> communicators;  ///< each once
  };
  struct Time {
    std::map<std::size_t, std::int64_t> ns;  ///< of calls, by the number of communicators that share them
    std::int64_t calls = 0;
  };
  void communicate(const trace::Event& event, OpenCall& call);
  static void note(OpenCall& call, std::int32_t communicator);
  void leave(const trace::Event& event, const OpenCall& call);

  const trace::Trace& trace_;
  std::vector<std::vector<OpenCall>> open_;                                             ///< by location
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::int32_t>> partners_;  ///< by call path and location
  std::map<std::pair<std::uint32_t, std::int32_t>, Time> times_;  ///< by call path and communicator
};

}  // namespace refrain::patterns
