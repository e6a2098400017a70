#pragma once
/// The critical path: the longest chain of activities, each of which could not begin before the one before it, from the
/// begin of the trace to the end of the last call of MPI (Boehme, Wolf, de Supinski, Schulz, Geimer: Scalable
/// Critical-Path Based Performance Analysis). Only what lies on it makes the program longer.
///
/// It is found in the one pass. Where a call has waited, what is critical for its end is the other process, up to what
/// it has waited for; else it is what its own process has done before. Each call is a node that refers to the node
/// before it on the path to its end, on whichever location. A node of long ago to which one other node alone refers is
/// put together with that.
///
/// Memory: nodes of the last 256 calls of each location, and of the places before them where paths part.

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
  double imbalance_ns = 0;  ///< by which that is more than the mean over locations of the same activity; 0: it is less
};

class CriticalPath {
 public:
  /// Subscribes, also to what Waits publishes.
  explicit CriticalPath(Search& search);
  CriticalPath(const CriticalPath&) = delete;
  CriticalPath& operator=(const CriticalPath&) = delete;

  /// After the pass: largest first; their times add up to the end of the last call. Nothing: events are missing, so it
  /// is not known.
  std::optional<std::vector<CriticalActivity>> found() const;

 private:
  struct Node {
    std::shared_ptr<Node> before;
    std::map<Activity, std::int64_t> ns;  ///< since then
    ~Node();
  };
  /// A call that was left, and the path to its end.
  struct Past {
    std::int64_t enter_ns, leave_ns;
    std::uint32_t path;
    std::int64_t waiting_ns = 0;
    std::shared_ptr<Node> node;
  };
  struct OfLocation {
    RecentCalls<Past> calls;
    bool has_calls = false, has_forgotten = false;  ///< some came before those of `calls`
  };

  void call(const Call& call);
  void waited(const Waited& of);
  void wait(Past& past, const Waited& of);
  static void put_together(Node& node);

  std::vector<OfLocation> of_location_;
  std::map<Activity, std::int64_t> all_ns_;  ///< of all locations: `location` is 0
  bool is_known_ = true;
};

}  // namespace refrain::patterns
