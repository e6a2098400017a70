#pragma once
/// One-sided communication of a search: makes WindowWait from calls that synchronize windows.
///
/// A process synchronizes a window in epochs. The epochs of a rank are followed call by call; each epoch that has ended
/// meets the epochs of others that concern it:
///
///   access (MPI_Win_start to MPI_Win_complete)   the next exposure of each target that does not end before
///                                                 MPI_Win_complete begins; targets are those of its operations
///   exposure (MPI_Win_post to MPI_Win_wait)       the accesses that meet it
///   lock (MPI_Win_lock to MPI_Win_unlock)         locks of the same target that overlap it, if one of the two is
///                                                 exclusive
///   fence                                         the fences with the same number of all processes of the window
///
/// Epochs of one rank must be added in their order, epochs of several ranks in any order.
///
/// Memory: epochs in progress, and the last ended epochs of each window and target; in a distributed search, those of a
/// round.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "offline/patterns/search.hpp"

namespace refrain::patterns {

/// How a call used a window.
struct WindowUse {
  std::int32_t window = -1;  ///< index into the trace's windows; -1: none
  std::int32_t target = -1;  ///< rank of the job; -1: no particular one
  bool is_exclusive = false;
  std::uint64_t ordinal = 0;  ///< of a fence
};

/// A call of an epoch.
struct EpochCall {
  Call call;
  std::int32_t target = -1;  ///< of an operation; -1: all targets
};

/// From MPI_Win_start to MPI_Win_complete.
struct AccessEpoch {
  struct Target {
    std::int32_t rank;
    std::int64_t last_ns;  ///< when the last operation was left
  };
  std::int32_t window = -1, rank = -1;
  std::vector<Target> targets;
  std::vector<EpochCall> calls;  ///< the first calls, and MPI_Win_complete
  const Call& complete() const { return calls.back().call; }
};
/// From MPI_Win_post to MPI_Win_wait, or to the MPI_Win_test that found it ended.
struct ExposureEpoch {
  std::int32_t window = -1, rank = -1;
  Call post, wait;
};
/// From MPI_Win_lock to MPI_Win_unlock.
struct LockEpoch {
  std::int32_t window = -1, rank = -1, target = -1;
  bool is_exclusive = false;
  std::vector<EpochCall> calls;  ///< MPI_Win_lock, the first calls, and MPI_Win_unlock
  std::int64_t begin_ns() const { return calls.front().call.enter_ns; }
  const Call& unlock() const { return calls.back().call; }
  std::int64_t end_ns() const { return unlock().leave_ns; }
};
struct Fence {
  std::int32_t window = -1;
  std::uint64_t ordinal = 0;
  Call call;
};

class Search::Windows {
 public:
  explicit Windows(Search& search);

  /// The call is left.
  void leave(const Call& call, const WindowUse& use, trace::WindowStep step);
  /// Drops what is in progress on the location's rank, because events are missing.
  void forget(std::uint32_t location);
  /// To be called after the last epoch.
  void finish();

  // Epochs of other processes of a distributed search.
  /// All of these that end before `ns` are known.
  void know_until(std::int64_t ns) { known_until_ns_ = ns; }
  void add(const AccessEpoch& epoch);
  void add(const ExposureEpoch& epoch);
  void add(const LockEpoch& epoch);
  void add(const Fence& fence);
  /// What is sent to the processes with members of a window.
  struct ForOthers {
    std::vector<AccessEpoch> accesses;
    std::vector<ExposureEpoch> exposures;
    std::vector<LockEpoch> locks;
    std::vector<Fence> fences;
  };
  /// By the communicator of the window.
  std::map<std::int32_t, ForOthers>& for_others() { return for_others_; }

 private:
  static constexpr std::size_t most_calls = 256, most_recent = 64, most_waiting = 4096;
  static constexpr std::size_t most_fence_parts = std::size_t{1} << 20;
  using WindowAndRank = std::pair<std::int32_t, std::int32_t>;
  struct Open {
    std::map<std::int32_t, AccessEpoch> accesses;  ///< by window
    std::map<std::int32_t, Call> posts;            ///< by window
    std::map<WindowAndRank, LockEpoch> locks;      ///< by window and target
  };
  using SharedAccess = std::shared_ptr<const AccessEpoch>;
  struct Locks {
    std::multimap<std::int64_t, LockEpoch> by_end;
    std::int64_t longest_ns = 0;  ///< longest lock so far
  };
  /// The epochs of a window and a target.
  struct Target {
    std::deque<ExposureEpoch> exposures;                          ///< the last ones, in their order
    std::unordered_map<std::int32_t, std::int64_t> met_until_ns;  ///< by origin, the end of the exposure met last
    std::map<std::int32_t, std::deque<SharedAccess>> accesses;    ///< by origin, those that have met no exposure yet
    Locks exclusive, shared;                                      ///< the last ones of each
  };

  std::int32_t rank_of(std::uint32_t location) const { return search_.trace_.locations()[location].rank; }
  std::int32_t communicator_of(std::int32_t window) const;
  bool is_in_trace(std::int32_t rank) const { return ranks_.contains(rank); }
  template <class Epoch>
  void end(const Epoch& epoch, std::vector<Epoch> ForOthers::*told);
  void lock(const Call& call, const WindowUse& use);
  void operation(const Call& call, const WindowUse& use);
  static bool is_over_before(const AccessEpoch& access, const ExposureEpoch& exposure);
  void leave_without(const AccessEpoch& access);
  void meet(const AccessEpoch& access, const ExposureEpoch& exposure) const;
  void meet(const LockEpoch& epoch, const Locks& others) const;
  void wait_for(const LockEpoch& waiting, const LockEpoch& holding) const;
  void keep(Locks& locks, const LockEpoch& epoch) const;
  void publish(const WindowWait& wait) const;
  void leave_out(const Call& call);

  Search& search_;
  std::unordered_set<std::int32_t> ranks_;           ///< of the trace
  std::unordered_map<std::int32_t, Open> open_;      ///< by rank
  std::map<WindowAndRank, Target> targets_;          ///< by window and target
  std::unordered_map<std::int32_t, bool> is_whole_;  ///< by window: all its processes are in the trace
  std::map<std::pair<std::int32_t, std::uint64_t>, std::vector<Call>> fences_;  ///< by window and ordinal
  std::deque<std::pair<std::int32_t, std::uint64_t>> fences_in_order_;
  std::size_t fence_parts_ = 0;
  std::map<std::int32_t, ForOthers> for_others_;
  std::int64_t known_until_ns_;
};

}  // namespace refrain::patterns
