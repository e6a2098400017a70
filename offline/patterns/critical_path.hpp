#pragma once
/// The critical path: the longest chain of activities, each of which could not begin before its predecessor, from the
/// start of the trace to the end of the last MPI call (Boehme, Wolf, de Supinski, Schulz, Geimer: Scalable
/// Critical-Path Based Performance Analysis). Only activities on this path make the program longer.
///
/// The path is found in the one pass. If a call waited, the path to its end leads through the other process, up to
/// what the call waited for; otherwise it leads through what its own process did before. Each call is a node that
/// refers to the preceding node on the path to its end, on any location. An old node to which only one other node
/// refers is merged into that node.
///
/// Memory: nodes of the last 256 calls of each location, and of earlier points at which paths branch.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "offline/patterns/activity.hpp"
#include "offline/patterns/recent_calls.hpp"
#include "offline/patterns/search.hpp"

namespace refrain::patterns {

struct CriticalActivity {
  Activity activity;
  std::int64_t ns = 0;      ///< on the path
  double imbalance_ns = 0;  ///< excess over the mean of the same activity over locations; 0: no more than the mean
};

class CriticalPath {
 public:
  /// Subscribes, also to Waited, which Waits publishes.
  explicit CriticalPath(Search& search);
  CriticalPath(const CriticalPath&) = delete;
  CriticalPath& operator=(const CriticalPath&) = delete;

  /// After the pass: largest first; the times add up to the end of the last call. nullopt: events are missing, so the
  /// path is not known.
  std::optional<std::vector<CriticalActivity>> found() const;

 private:
  struct Node {
    std::shared_ptr<Node> before;
    std::map<Activity, std::int64_t> ns;  ///< of the activities since `before`
    ~Node();
  };
  /// A call that has ended, and the path to its end.
  struct Past {
    std::int64_t enter_ns, leave_ns;
    std::uint32_t path;
    std::int64_t waiting_ns = 0;
    std::shared_ptr<Node> node;
  };
  struct OfLocation {
    RecentCalls<Past> calls;
    bool has_calls = false, has_forgotten = false;  ///< the latter: there were calls before `calls`
  };

  void call(const Call& call);
  void waited(const Waited& of);
  void wait(Past& past, const Waited& of);
  static void put_together(Node& node);

  std::vector<OfLocation> of_location_;
  std::map<Activity, std::int64_t> all_ns_;  ///< sums over all locations; `location` is 0
  bool is_known_ = true;
};

}  // namespace refrain::patterns
