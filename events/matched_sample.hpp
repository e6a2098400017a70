#pragma once
/// A sample of single messages, for programs whose spans are too large to be kept (span_store.hpp).
///
/// Both ranks of a message give it the same number (message_numbers.hpp). Of each channel one of 2^level numbers is
/// kept, as format/kept_iterations.hpp chooses: so both ends of a message are kept or neither is, and the ranks need
/// not communicate. The same numbers are kept for all channels. So if a program sends one message at a time on each of
/// its channels, whole steps are kept, and all messages that one MPI_Waitall has completed.
///
/// When the memory is full, the level rises by one and every second message is dropped, in one pass over the memory.
///
/// Async-signal-safe; nothing is allocated. Belongs to one thread at a time.

#include <cstddef>
#include <cstdint>
#include <span>

#include "events/message_numbers.hpp"
#include "events/record.hpp"

namespace refrain::events {

/// One end of a message, and the call that has begun the send or completed the receive.
struct SampledMessage {
  std::int64_t begin = 0, end = 0;  ///< of the call, ticks
  MessageNumber number;
  std::int64_t bytes = 0;
  std::int32_t communicator = 0, peer = 0, tag = 0;  ///< as in a record
  std::uint32_t node = 0;                            ///< call path of the call
  std::int32_t begun_thread = 0;                     ///< is_completed: thread of the call that posted the receive
  std::uint32_t begun_node = 0;                      ///< likewise: its call path
  std::uint32_t receives = 0;  ///< of a receive: how many the call completed, kept or not; 0: unknown
  bool is_receive = false;
  bool is_completed = false;  ///< a receive that another call has posted
};

class MatchedSample {
 public:
  /// `memory` must outlive this object.
  void create(std::span<std::byte> memory);

  /// Begins to sample messages, inside a call.
  void begin() { is_on_ = true; }
  bool is_on() const { return is_on_; }

  /// Adds a message of the call in progress. Its record must have a number (has_number()), which is passed here
  /// whatever its form in the record.
  void add(const Record& message, const MessageNumber& number);
  /// The call in progress has ended.
  void end_call(const CallRecord& call);

  /// Drops the messages that are not kept at that level, and keeps none of them from now on.
  void agree(unsigned level);

  std::span<const SampledMessage> messages() const { return {messages_, whole_}; }
  unsigned level() const { return level_; }
  std::uint64_t lost() const { return lost_; }             ///< messages that could not be sampled
  std::int64_t begin_time() const { return begin_time_; }  ///< begin of the first sampled call; 0: none

 private:
  /// A block of numbers of which one is kept.
  struct Block {
    std::uint64_t block = no_ordinal, chosen = 0;
  };
  static constexpr std::size_t max_blocks = 16;
  bool is_wanted(std::uint64_t ordinal);
  void set_level(unsigned level);
  bool raise();
  void drop_unwanted();

  SampledMessage* messages_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0, whole_ = 0;  ///< messages behind `whole_` belong to the call in progress
  unsigned level_ = 0;
  std::uint32_t receives_ = 0;  ///< receives of the call in progress
  std::uint64_t lost_ = 0;
  std::int64_t begin_time_ = 0;
  bool is_on_ = false;
  Block blocks_[max_blocks];  ///< a cache: to find the chosen number of a block takes some hashes
};

}  // namespace refrain::events
