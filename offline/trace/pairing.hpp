#pragma once
/// Which send and which receive are one message.
///
/// With numbers (events/message_numbers.hpp) two events are a pair when their numbers, the tags before them and their
/// own tags are equal: then they are the same message, whatever was kept of earlier events. Without numbers, in traces
/// of other tools, messages with the same communicator, source, destination and tag are paired in order from the start
/// of the trace; the place of a receive in this order is where it was posted.
///
/// An event is paired correctly or not at all: events left out are counted, with the reason.
///
/// Memory: what is in flight, and the most recent sends whose receives were not kept; nothing that grows with the
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
  std::uint64_t position;  ///< index among its location's sends and receives, from 0
  std::int64_t bytes;
  std::int32_t tag;
  std::uint32_t token;  ///< set by the user of Pairing
};
struct MessagePair {
  MessageEvent send, receive;
};

enum class LeftOut : std::uint8_t {
  Unnumbered,     ///< no number: several threads, an open wildcard, a full table
  NotKept,        ///< the other side is not in the trace
  OtherOrder,     ///< tags that share a bucket were sent in one order and received in another
  Outside,        ///< the other side is no process of the job, or the communicator is not known
  Contradiction,  ///< send and receive have different sizes, or a number occurs twice
  Forgotten,      ///< its request was open too long, with too many others (open_requests.hpp)
};
inline constexpr unsigned reasons = 6;
const char* name_of(LeftOut reason);

struct MessageCounts {
  std::uint64_t sends = 0, receives = 0, paired = 0;
  std::array<std::uint64_t, reasons> left_out{};  ///< events, by reason
  /// From 0 to 1; 1 without any events.
  double share_of_pairs() const;
};

/// The communicator and ranks that a record refers to; `communicator` is the same number on all ranks. Negative: not
/// known.
struct ChannelEnds {
  std::int32_t communicator, own, other;
};

/// What the two events of a message have in common.
struct MessageKey {
  std::int32_t communicator, from, to;
  std::int32_t tags;  ///< the bucket of tags; without numbers the tag
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
  /// `numbered`: whether the trace has numbers. `locations`: how many there are. `alone`: gets each event once it is
  /// left out.
  Pairing(std::size_t locations, bool numbered, Ends ends, Take take = {}, TakeAlone alone = {});

  /// Takes every event, in order of time. Clocks may differ: a receive may come before its send.
  void add(const Event& event, std::uint32_t token = 0);
  /// Call after the last event: what still waits is left out.
  void finish();

  /// The communicator and ranks of a message event, added or not.
  const ChannelEnds& ends_of(const Event& event);
  /// The send of the receive that was added last; null: it is not paired, or not yet.
  const MessageEvent* sent() const { return sent_ ? &*sent_ : nullptr; }
  /// The rank at the other end of the send or receive that was added last; negative: not known.
  std::int32_t other() const { return other_; }
  const MessageCounts& counts() const { return counts_; }
  /// Approximate memory that a copy takes.
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
    std::deque<Posted> posted;  ///< without numbers: posted receives in order, from the first open one
    /// The open receive with this request; null: there is none.
    Posted* open(std::uint64_t request);
    // Successive messages mostly have the same communicator and partner.
    std::int32_t communicator = 0, peer = 0;
    std::optional<ChannelEnds> ends;
  };
  /// Events that wait for their other side, by key and in order of arrival. A hash table with linear probing; its slots
  /// are places in a list that is kept in one array.
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
    std::vector<Entry> entries_ = std::vector<Entry>(1);                 ///< the first one is the list's sentinel
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
  std::unordered_map<Key, Sides, HashOfKey> counted_;  ///< without numbers; keys have ordinal 0
  std::vector<OfLocation> of_location_;
  MessageCounts counts_;
  std::optional<MessageEvent> sent_;
  std::int32_t other_ = -1;
};

class Trace;

/// The communicator of a message event, and the ranks of the job at both ends; negative: not known.
ChannelEnds ends_of(const Trace& trace, const Event& event);

/// A Pairing for the events of all locations of a trace, which must outlive it.
Pairing pairing_of(const Trace& trace, Pairing::Take take = {}, Pairing::TakeAlone alone = {});

}  // namespace refrain::trace
