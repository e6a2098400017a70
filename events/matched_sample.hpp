#pragma once
/// A sample of single messages, for where whole spans are too large to be kept (span_store.hpp).
///
/// Both ranks of a message give it the same number (message_numbers.hpp). Of each channel one of 2^level numbers is
/// kept, those that format/kept_iterations.hpp chooses: so both ends of a message are kept or neither is, and the ranks
/// need not talk to each other. The same numbers are kept of all channels. So of a program that sends one message on
/// each of its channels at a time, whole steps are kept, and all that one MPI_Waitall has completed.
///
/// When the memory is full the level rises by one: one of two goes. That is one pass over the memory.
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
  std::int64_t begin = 0, end = 0;  ///< of the call
  MessageNumber number;
  std::int64_t bytes = 0;
  std::int32_t communicator = 0, peer = 0, tag = 0;  ///< as in a record
  std::uint32_t node = 0;                            ///< of the call
  std::int32_t begun_thread = 0;                     ///< is_completed: of the call that has posted the receive
  std::uint32_t begun_node = 0;                      ///< likewise
  std::uint32_t receives = 0;  ///< of a receive: that the call has completed, whether kept or not; 0: not known
  bool is_receive = false;
  bool is_completed = false;  ///< a receive that another call has posted
};

class MatchedSample {
 public:
  /// `memory` is to outlive this.
  void create(std::span<std::byte> memory);

  /// Messages are sampled from here on, within a call.
  void begin() { is_on_ = true; }
  bool is_on() const { return is_on_; }

  /// A message of the call in progress, of a record that has a number (has_number()), whatever form that has there.
  void add(const Record& message, const MessageNumber& number);
  /// That call has ended.
  void end_call(const CallRecord& call);

  /// Drops what is not kept at that level, and will not keep it.
  void agree(unsigned level);

  std::span<const SampledMessage> messages() const { return {messages_, whole_}; }
  unsigned level() const { return level_; }
  std::uint64_t lost() const { return lost_; }             ///< messages that could not be sampled: they have no number
  std::int64_t begin_time() const { return begin_time_; }  ///< of the first call whose messages were sampled; 0: none

 private:
  /// A block of numbers, of which one is kept.
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
  std::size_t count_ = 0, whole_ = 0;  ///< those behind the whole ones are of the call in progress
  unsigned level_ = 0;
  std::uint32_t receives_ = 0;  ///< of the call in progress
  std::uint64_t lost_ = 0;
  std::int64_t begin_time_ = 0;
  bool is_on_ = false;
  Block blocks_[max_blocks];  ///< those that channels are in: to find out what is chosen of one costs some hashes
};

}  // namespace refrain::events
