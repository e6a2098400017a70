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
  std::uint32_t token;  ///< what the user of Pairing calls it
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
  Forgotten,      ///< its request was open too long, with too many others (open_requests.hpp)
};
inline constexpr unsigned reasons = 6;
const char* name_of(LeftOut reason);

struct MessageCounts {
  std::uint64_t sends = 0, receives = 0, paired = 0;
  std::array<std::uint64_t, reasons> left_out{};  ///< events, by reason
  /// From 0 to 1; 1 without any.
  double share_of_pairs() const;
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
  using TakeAlone = std::function<void(const MessageEvent&, bool is_send)>;
  /// `numbered`: the trace has numbers. `locations`: how many there are. `alone`: gets what is left out, once it is.
  Pairing(std::size_t locations, bool numbered, Ends ends, Take take = {}, TakeAlone alone = {});

  /// With every event, in order of time. Clocks may differ: a receive may come before its send.
  void add(const Event& event, std::uint32_t token = 0);
  /// There are no more: what waits is left out.
  void finish();

  /// Who is meant by a message event, added or not.
  const ChannelEnds& ends_of(const Event& event);
  /// The send of the receive that was added last; null: it is not paired, or not yet.
  const MessageEvent* sent() const { return sent_ ? &*sent_ : nullptr; }
  /// The other end of the send or receive that was added last; negative: not known.
  std::int32_t other() const { return other_; }
  const MessageCounts& counts() const { return counts_; }
  /// About how much memory a copy takes.
  std::size_t bytes() const;

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
    /// The one with this request; null: there is none.
    Posted* open(std::uint64_t request);
    // Messages of one communicator and partner mostly follow each other.
    std::int32_t communicator = 0, peer = 0;
    std::optional<ChannelEnds> ends;
  };
  /// Events that wait for their other side, by key and in the order in which they came. A hash table with linear
  /// probing, of places in a list that is kept in one array.
  class WaitingTable {
   public:
    std::size_t size() const { return size_; }
    std::size_t bytes() const { return entries_.size() * sizeof(Entry) + slots_.size() * sizeof(slots_[0]); }
    /// `hash`: hash_of(key). Null: there is none.
    const Waiting* find(const Key& key, std::uint32_t hash) const;
    void add(const Waiting& waiting, std::uint32_t hash);
    void remove(const Key& key, std::uint32_t hash);
    static std::uint32_t hash_of(const Key& key) { return static_cast<std::uint32_t>(HashOfKey{}(key)); }
    const Waiting& oldest() const { return entries_[entries_[0].next].waiting; }

   private:
    struct Entry {
      Waiting waiting;
      std::uint32_t before = 0, next = 0, hash = 0;
    };
    static constexpr std::size_t no_slot = ~std::size_t{0};
    std::size_t slot_of(const Key& key, std::uint32_t hash) const;
    void grow();
    std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(64);  ///< places in entries_; 0: free
    std::vector<Entry> entries_ = std::vector<Entry>(1);                 ///< the first one is the list's begin and end
    std::vector<std::uint32_t> free_;
    std::size_t size_ = 0;
  };

  void message(const Event& event, std::uint32_t token);
  void add_by_order(OfLocation& of, const Event& event, Waiting waiting);
  void release_posted(OfLocation& of);
  void count_on(Waiting waiting);
  void match(const Waiting& waiting);
  Waiting take_oldest();
  void leave_out(const Waiting& waiting, LeftOut reason) {
    ++counts_.left_out[static_cast<std::size_t>(reason)];
    if (alone_) alone_(waiting.event, waiting.is_send);
  }

  bool numbered_;
  Ends ends_;
  Take take_;
  TakeAlone alone_;
  std::size_t most_waiting_;
  WaitingTable waiting_;
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

/// Of a message event the communicator, and the ranks of the job at both ends; negative: not known.
ChannelEnds ends_of(const Trace& trace, const Event& event);

/// For the events of all locations of a trace. The trace must outlive it.
Pairing pairing_of(const Trace& trace, Pairing::Take take = {}, Pairing::TakeAlone alone = {});

}  // namespace refrain::trace
