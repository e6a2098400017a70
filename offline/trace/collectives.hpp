#pragma once
/// Assembles collective operations from the parts of their processes: which calls are one operation.
///
/// In an experiment each part has its number on its communicator. In traces of other tools the parts on a communicator
/// are counted on each location, in order from the start of the trace.
///
/// Memory: what is in flight, and the most recently begun operations that lack parts in the trace. Belongs to one
/// thread; the trace must outlive it.

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "offline/trace/functions.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::trace {

/// What one process does in an operation.
struct CollectivePart {
  std::uint32_t location = 0;
  std::int32_t rank = -1;      ///< in the job
  std::int32_t position = -1;  ///< in the communicator; for Exchange::Prefix only
  bool is_root = false;
  std::int64_t bytes_sent = 0, bytes_received = 0;
  std::int64_t begin_ns = 0;           ///< when the call that began the operation was entered
  std::uint32_t begin_path = no_path;  ///< path of that call
  /// The call that completed the operation; for a blocking operation the call that began it.
  std::int64_t enter_ns = 0, leave_ns = 0;
  std::int64_t inner_ns = 0;  ///< time of that call spent in calls within it
  std::uint32_t path = no_path;
  std::uint32_t span = 0;       ///< OpenCall::span of that call
  bool is_with_others = false;  ///< that call also completed messages, or operations of another kind
  std::uint32_t together = 1;   ///< number of operations that call completed
  bool is_blocking = true;
};

struct CollectiveOperation {
  std::int32_t communicator = -1;
  std::uint64_t ordinal = 0;
  std::uint32_t region = 0;  ///< of the call that began it, on the first process to leave
  Exchange exchange = Exchange::None;
  std::vector<CollectivePart> parts = {};  ///< in the order in which processes left
};

/// An open call. `span` is for the user of Collectives.
struct OpenCall {
  std::int64_t enter_ns = 0;
  std::uint32_t path = no_path;
  std::uint32_t span = 0;
};

class Collectives {
 public:
  using Take = std::function<void(const CollectiveOperation&)>;
  /// `take` gets an operation once its last process has left it.
  Collectives(const Trace& trace, Take take);
  /// Call this when only parts of some ranks are added. `own_members`: how many members of each communicator are among
  /// these ranks. `take_part` gets what they did in an operation that has other members, too, once all of them have
  /// left it, or with fewer parts when the rest will not come.
  void take_parts_of(std::vector<std::size_t> own_members, Take take_part) {
    own_members_ = std::move(own_members);
    take_part_ = std::move(take_part);
  }
  /// Sets the position in the communicator of each part of a whole operation.
  void set_positions(CollectiveOperation& operation) const;
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  /// Takes a Communication event of kind Collective, within `call`. Returns whether `call` completes an operation.
  bool add(const Event& event, const OpenCall& call);
  /// Takes a Leave event, after add() of what its call did. `enter_ns`: when the call was entered. `inner_ns`: time in
  /// calls within it. `is_with_others`: see CollectivePart.
  void leave(const Event& event, std::int64_t enter_ns, std::int64_t inner_ns = 0, bool is_with_others = false);
  /// Events are missing here: open calls have no end.
  void abandon(std::uint32_t location) { completing_[location].clear(); }
  /// Call after the last event.
  void finish();

  std::uint64_t whole() const { return whole_; }
  /// Number of operations that lack parts in the trace, plus parts that belong to none.
  std::uint64_t left_out() const { return left_out_; }

 private:
  struct Key {
    std::int32_t communicator;
    std::uint64_t ordinal;
    bool operator==(const Key&) const = default;
  };
  struct HashOfKey {
    std::size_t operator()(const Key& key) const;
  };
  struct Part {
    Key key{-1, 0};
    std::uint32_t region = 0;
    std::uint64_t place = 0;  ///< in archives: index among the parts of its location
    CollectivePart part;
  };
  /// For archives: the parts of a location, from the first one on that was not left. When a part is left, its
  /// communicator becomes known, and with it the numbers of the parts behind it.
  struct InOrder {
    std::deque<std::optional<Part>> parts;
    std::uint64_t first = 0;
    std::unordered_map<std::int32_t, std::uint64_t> next;  ///< by communicator
    bool is_lost = false;                                  ///< a part was never completed: numbers are not known
  };
  using Place = std::list<CollectiveOperation>::iterator;
  std::int32_t communicator_of(const Event& event) const;
  void left(Part part);
  void join(const Part& part);
  void end(Place place);
  void leave_out(Place place);

  const Trace& trace_;
  Take take_, take_part_;
  std::vector<std::size_t> own_members_;  ///< see take_parts_of(); empty: all
  std::vector<FunctionOfMpi> functions_;  ///< by region
  std::list<CollectiveOperation> in_order_;
  std::unordered_map<Key, Place, HashOfKey> open_;
  std::unordered_map<std::uint64_t, Part> begun_;  ///< by a hash of owner and request
  std::vector<InOrder> of_location_;               ///< for archives
  std::vector<std::vector<Part>> completing_;      ///< by location, in the open call
  std::size_t open_parts_ = 0;
  std::uint64_t whole_ = 0, left_out_ = 0;
};

}  // namespace refrain::trace
