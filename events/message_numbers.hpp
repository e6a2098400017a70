#pragma once
/// Numbers of messages, by which a send and a receive are recognised as one message.
///
/// A *channel* consists of the messages from one rank to another on a communicator with tags of one bucket. Each side
/// numbers the messages of its channels by itself: sends in the order in which they are begun, receives in the order in
/// which they are posted. Messages do not overtake each other. So a send and a receive of the same number are one
/// message if their tags are equal, and the tags of all earlier messages are the same on both sides, in whatever order:
/// then both are the n-th with their tag. The earlier tags are compared by the sum of their hashes.
///
/// Each member of a communicator also numbers the collective operations on it, in the order in which it begins them.
/// That order is the same for all members, so operations of equal number are one.
///
/// In a record most numbers take no room, because the reader predicts the next number of a channel as the writer does.
/// Both begin anew with each span, frame, gap and jump.
///
/// Async-signal-safe; nothing is allocated. Belongs to one thread at a time.

#include <cstdint>

#include "events/record.hpp"
#include "format/hashing.hpp"

namespace refrain::events {

/// Buckets keep most tags of a program apart, and bound the number of channels if the program never uses a tag twice.
inline constexpr std::uint32_t tag_buckets = 32;
constexpr std::uint32_t tag_bucket(std::int32_t tag) { return static_cast<std::uint32_t>(tag) % tag_buckets; }
inline std::uint64_t hash_of_tag(std::int32_t tag) { return format::mixed(static_cast<std::uint32_t>(tag)); }

struct MessageNumber {
  std::uint64_t ordinal = no_ordinal;  ///< on its channel or communicator, from 0; no_ordinal: unknown
  std::uint64_t tags_before = 0;       ///< sum of the hashes of the tags of all earlier messages
  bool operator==(const MessageNumber&) const = default;
};

/// Records of sends and collective operations have a number when they begin, those of receives when they end.
constexpr bool has_number(Kind kind, Phase phase) {
  return ((kind == Kind::Send || kind == Kind::Collective) && phase <= Phase::Begun) ||
         (kind == Kind::Receive && (phase == Phase::Whole || phase == Phase::Completed));
}

/// What the writer or the reader knows about the channels of a location.
class MessageNumbers {
 public:
  /// Forgets everything.
  void forget() { ++epoch_; }
  /// Writer: puts the number into a record for which has_number() is true.
  void put(Record& record, const MessageNumber& number) {
    Channel& of = slot_of(record);
    if (of.next == number && of.tag == record.tag && is_known(of, record)) [[likely]] {
      record.form = NumberForm::Next;
      ++of.next.ordinal;
      of.next.tags_before += of.hash;
      return;
    }
    put_other(record, number);
  }
  /// Reader: takes the number of a decoded record. no_ordinal: it has none.
  MessageNumber take(const Record& record) {
    Channel& of = slot_of(record);
    if (record.form != NumberForm::Next || of.tag != record.tag || !is_known(of, record)) [[unlikely]]
      return take_other(record, of);
    const MessageNumber number = of.next;
    ++of.next.ordinal;
    of.next.tags_before += of.hash;
    return number;
  }

 private:
  static constexpr std::uint32_t slots = 256;
  struct Channel {
    std::int32_t communicator, peer;
    std::uint32_t bucket_and_kind;
    std::uint32_t epoch;
    MessageNumber next;
    std::int32_t tag;    ///< the last tag
    std::uint64_t hash;  ///< its hash
  };
  /// Collective operations are separate from messages, and those of all roots have one order.
  static std::uint32_t bucket_and_kind(const Record& r) {
    return is_message(r.kind) ? tag_bucket(r.tag) << 1 | (r.kind == Kind::Receive ? 1u : 0u) : 2 * tag_buckets;
  }
  static std::int32_t peer_of(const Record& r) { return is_message(r.kind) ? r.peer : no_peer; }
  Channel& slot_of(const Record& r) {
    static_assert(slots == 1u << 8);
    const auto x = static_cast<std::uint32_t>(peer_of(r)) * 0x9e3779b1u +
                   static_cast<std::uint32_t>(r.communicator) * 0x85ebca6bu + bucket_and_kind(r) * 0xc2b2ae35u;
    return channels_[x >> 24];
  }
  bool is_known(const Channel& of, const Record& r) const {
    return of.epoch == epoch_ && of.peer == peer_of(r) && of.communicator == r.communicator &&
           of.bucket_and_kind == bucket_and_kind(r);
  }
  void put_other(Record& record, const MessageNumber& number);
  MessageNumber take_other(const Record& record, Channel& channel);
  void know(Channel& channel, const Record& record, const MessageNumber& next, std::uint64_t hash);

  std::uint32_t epoch_ = 1;
  Channel channels_[slots] = {};  ///< one of the channels that share a slot
};

}  // namespace refrain::events
