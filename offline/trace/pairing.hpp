#pragma once
/// Which send and which receive are one message.
///
/// With numbers (events/message_numbers.hpp) two events are a pair when their numbers, the tags before them and their
/// own tags are equal: then they are the same message whatever was kept of what came before. Without numbers, in traces
/// of other tools, messages of one communicator, source, destination and tag are paired in their order from the begin
/// of the trace; a receive has its place in this order by where it was posted.
///
/// An event is paired rightly or not at all: what is left out is counted, with the reason.
///
/// Memory: what is in flight, and of sends whose receives were not kept the last ones; nothing that grows with the
/// trace. Belongs to one thread.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "events/message_numbers.hpp"
#include "offline/trace/event.hpp"

namespace refrain::trace {

/// A send that was begun, or a receive that was completed.
struct MessageEvent {
  std::uint32_t location;
  std::int64_t time_ns;
  std::uint64_t position;  ///< which one of its location's sends and receives, from 0 on
  std::int64_t bytes;
  std::int32_t tag;
};
struct MessagePair {
  MessageEvent send, receive;
};

enum class LeftOut : std::uint8_t {
  Unnumbered,     ///< it has no number: several threads, an open wildcard, a full table
  NotKept,        ///< the other side is not in the trace
  OtherOrder,     ///< tags that share a class were sent in one order and received in another
  Outside,        ///< the other side is no process of the job, or the communicator is not known
  Contradiction,  ///< the pair would have sent another number of bytes than it has received
};
inline constexpr unsigned reasons = 5;
const char* name_of(LeftOut reason);

struct MessageCounts {
  std::uint64_t sends = 0, receives = 0, paired = 0;
  std::array<std::uint64_t, reasons> left_out{};  ///< events, by reason
};

/// Who is meant by a record; `communicator` is the same number on all ranks. Negative: not known.
struct ChannelEnds {
  std::int32_t communicator, own, other;
};

/// What the two events of a message have in common.
struct MessageKey {
  std::int32_t communicator, from, to;
  std::int32_t tags;  ///< the class; without numbers the tag
  std::uint64_t ordinal;
  bool operator==(const MessageKey&) const = default;
};
struct HashOfMessageKey {
  std::size_t operator()(const MessageKey& key) const;
};

class Pairing {
 public:
  using Ends = std::function<ChannelEnds(const Event& event)>;
  using Take = std::function<void(const MessagePair&)>;
  /// `numbered`: the trace has numbers. `locations`: how many there are.
  Pairing(std::size_t locations, bool numbered, Ends ends, Take take = {});

  /// With every event, in order of time. Clocks may differ: a receive may come before its send.
  void add(const Event& event);
  /// There are no more: what waits is left out.
  void finish();

  /// The send of the receive that was added last; null: it is not paired, or not yet.
  const MessageEvent* sent() const { return sent_ ? &*sent_ : nullptr; }
  /// The other end of the send or receive that was added last; negative: not known.
  std::int32_t other() const { return other_; }
  const MessageCounts& counts() const { return counts_; }

 private:
  using Key = MessageKey;
  using HashOfKey = HashOfMessageKey;
  struct Waiting {
    Key key;
    bool is_send;
    bool knows_bytes;
    std::uint64_t tags_before;
    MessageEvent event;
  };
  struct Posted {
    std::uint64_t request;
    std::optional<Waiting> received;
    bool is_gone;  ///< cancelled
  };
  struct OfLocation {
    std::uint64_t position = 0;
    std::deque<Posted> posted;  ///< without numbers: receives, in their order, from the first that is open
  };

  void message(const Event& event);
  void add_by_order(OfLocation& of, const Event& event, Waiting waiting);
  void release_posted(OfLocation& of);
  void count_on(Waiting waiting);
  void match(const Waiting& waiting);
  void leave_out(LeftOut reason) { ++counts_.left_out[static_cast<std::size_t>(reason)]; }

  bool numbered_;
  Ends ends_;
  Take take_;
  std::size_t most_waiting_;
  std::list<Waiting> in_order_;
  std::unordered_map<Key, std::list<Waiting>::iterator, HashOfKey> waiting_;
  struct Sides {
    std::uint64_t sends = 0, receives = 0;
  };
  std::unordered_map<Key, Sides, HashOfKey> counted_;  ///< without numbers, with ordinal 0
  std::vector<OfLocation> of_location_;
  MessageCounts counts_;
  std::optional<MessageEvent> sent_;
  std::int32_t other_ = -1;
};

class Trace;
/// For the events of all locations of a trace. The trace must outlive it.
Pairing pairing_of(const Trace& trace, Pairing::Take take = {});

}  // namespace refrain::trace
