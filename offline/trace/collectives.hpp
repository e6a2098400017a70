#pragma once
/// Collective operations put together from the parts of their processes: which calls are one operation.
///
/// In an experiment each part has its number on its communicator. In traces of other tools parts of one communicator
/// are counted on each location, in their order from the begin of the trace.
///
/// Memory: what is in flight, and the operations last begun of which not all parts are in the trace. Belongs to one
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

/// What one process does.
struct CollectivePart {
  std::uint32_t location = 0;
  std::int32_t rank = -1;      ///< of the job
  std::int32_t position = -1;  ///< in the communicator; of Exchange::Prefix alone
  bool is_root = false;
  std::int64_t bytes_sent = 0, bytes_received = 0;
  std::int64_t begin_ns = 0;           ///< the call that has begun it was entered
  std::uint32_t begin_path = no_path;  ///< that call
  /// The call that has completed it; of a blocking operation the same one.
  std::int64_t enter_ns = 0, leave_ns = 0;
  std::int64_t inner_ns = 0;  ///< of that in calls within it
  std::uint32_t path = no_path;
  std::uint32_t span = 0;       ///< what the user of Collectives has said with that call
  bool is_with_others = false;  ///< the call has completed messages, or operations of another kind, too
  std::uint32_t together = 1;   ///< so many operations that call has completed
  bool is_blocking = true;
};

struct CollectiveOperation {
  std::int32_t communicator = -1;
  std::uint64_t ordinal = 0;
  std::uint32_t region = 0;  ///< of the call that has begun it, on the first process to leave
  Exchange exchange = Exchange::None;
  std::vector<CollectivePart> parts = {};  ///< in the order in which they were left
};

/// A call that is open.
struct OpenCall {
  std::int64_t enter_ns = 0;
  std::uint32_t path = no_path;
  std::uint32_t span = 0;
};

class Collectives {
 public:
  using Take = std::function<void(const CollectiveOperation&)>;
  /// `take` gets an operation when the last process has left it.
  Collectives(const Trace& trace, Take take);
  /// When only parts of some ranks are added, the members of communicators in `own_members`: `take_part` gets what
  /// these have done in an operation to which others belong, too, once all of them have left it, or with fewer parts
  /// when the rest will not come.
  void take_parts_of(std::vector<std::size_t> own_members, Take take_part) {
    own_members_ = std::move(own_members);
    take_part_ = std::move(take_part);
  }
  /// Says of each part of a whole operation which one in the communicator it is.
  void set_positions(CollectiveOperation& operation) const;
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  /// A Communication event of kind Collective, within this call. Returns whether `call` completes an operation.
  bool add(const Event& event, const OpenCall& call);
  /// A Leave event; after add() of what its call has done. `enter_ns`: of the call. `inner_ns`: in calls within it.
  /// `is_with_others`: see CollectivePart.
  void leave(const Event& event, std::int64_t enter_ns, std::int64_t inner_ns = 0, bool is_with_others = false);
  /// Events are missing here: calls that are open have no end.
  void abandon(std::uint32_t location) { completing_[location].clear(); }
  /// There are no more events.
  void finish();

  std::uint64_t whole() const { return whole_; }
  /// Operations of which not all parts are in the trace, and parts that belong to none.
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
    std::uint64_t place = 0;  ///< of archives: which one of its location
    CollectivePart part;
  };
  /// Of an archive: the parts of a location from the first one on that is not left. Only then is its communicator
  /// known, and what number those behind it have.
  struct InOrder {
    std::deque<std::optional<Part>> parts;
    std::uint64_t first = 0;
    std::unordered_map<std::int32_t, std::uint64_t> next;  ///< by communicator
    bool is_lost = false;                                  ///< one was never completed: numbers are not known
  };
  using Place = std::list<CollectiveOperation>::iterator;
  std::int32_t communicator_of(const Event& event) const;
  void left(Part part);
  void join(const Part& part);
  void end(Place place);
  void leave_out(Place place);

  const Trace& trace_;
  Take take_, take_part_;
  std::vector<std::size_t> own_members_;  ///< by communicator; empty: all
  std::vector<FunctionOfMpi> functions_;  ///< by region
  std::list<CollectiveOperation> in_order_;
  std::unordered_map<Key, Place, HashOfKey> open_;
  std::unordered_map<std::uint64_t, Part> begun_;  ///< by a hash of owner and request
  std::vector<InOrder> of_location_;               ///< of archives
  std::vector<std::vector<Part>> completing_;      ///< by location, in the call that is open
  std::size_t open_parts_ = 0;
  std::uint64_t whole_ = 0, left_out_ = 0;
};

}  // namespace refrain::trace
