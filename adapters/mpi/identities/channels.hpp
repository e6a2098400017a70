#pragma once
/// Numbers messages by counting them on their channels (events/message_numbers.hpp).
///
/// Sends count when they are begun, receives in the order in which they are posted. The channel of a receive with a
/// wildcard is known only when it completes. Until then the number of each later receive that could take the same
/// messages is open, too, and these wait in a queue of their communicator. A receive that completes while its number is
/// open gets none, and the counts stay right. Where they cannot stay right, the channel, or all receives of the
/// communicator, have no numbers from then on.
///
/// Threads: without MPI_THREAD_MULTIPLE the program makes one call at a time, on whichever thread. With it, each
/// channel and each queue belongs to the first thread that uses it, and loses its numbers when another thread uses it.
/// A thread claims a channel before MPI sees the call, so that neither thread writes a number that the other has made
/// wrong.
///
/// Memory: a table of fixed size on mapped pages. Nothing waits, and nothing is allocated after create().

#include <atomic>
#include <cstdint>

#include "events/message_numbers.hpp"

namespace refrain::adapters::mpi {

using events::MessageNumber;

/// The peer and the tag of a message. Receives may have any_peer and any_tag.
struct ChannelUse {
  std::int32_t communicator, peer, tag;  ///< `communicator` is its id
  bool is_receive;
  std::int32_t thread;  ///< the thread that makes the call
};

class Channels {
 public:
  static constexpr std::uint32_t slots = 1u << 16;
  static constexpr unsigned max_queues = 32, max_waiting = 64;

  /// False: there is no memory, and messages have no numbers. `is_threaded`: MPI_THREAD_MULTIPLE.
  bool create(bool is_threaded);
  bool exists() const { return table_ != nullptr; }
  bool is_threaded() const { return is_threaded_; }
  /// Whether a receive may have to wait for the completion of others.
  bool has_waiting_receives() const { return has_queues_.load(std::memory_order_relaxed); }

  /// Counts a message that was sent, or one received by the call that posted the receive. `is_full`: there was no room.
  MessageNumber count(const ChannelUse& use, bool& is_full) {
    MessageNumber number;
    return count_plain(use, number) ? number : count_other(use, is_full);
  }
  /// Counts a receive that completes later. Returns its number, or a ticket in its place.
  MessageNumber post(const ChannelUse& use, bool& is_full) {
    MessageNumber number;
    return count_plain(use, number) ? number : post_other(use, is_full);
  }
  /// Takes in the status of a receive whose completion is yet to come.
  void resolve(const MessageNumber& ticket, const ChannelUse& told);
  /// The receive has completed. `told`: source and tag as in its status.
  MessageNumber complete(const MessageNumber& ticket, const ChannelUse& told) {
    return has_queues_.load(std::memory_order_relaxed) || has_trouble_.load() ? complete_other(ticket, told) : ticket;
  }
  /// The request was freed, or has failed, before it completed.
  void give_up(const MessageNumber& ticket, const ChannelUse& posted);
  /// MPI_Cancel was called for this receive or send. Until end_doubt() the numbers of later ones are in doubt.
  void doubt(const ChannelUse& posted);
  void end_doubt(const MessageNumber& ticket, const ChannelUse& posted, bool was_cancelled);
  /// It is unknown whether this message counts, so its channel has no numbers from now on.
  void break_channel(const ChannelUse& use);
  /// With several threads: this message is about to be posted or sent.
  void claim(const ChannelUse& use);

 private:
  struct alignas(64) Channel {
    std::atomic<std::uint64_t> key;
    std::atomic<std::uint64_t> count, tags;
    std::atomic<std::uint64_t> last_hash;  ///< hash of the last tag
    std::atomic<std::uint32_t> last_tag_plus_1;
    std::atomic<std::int32_t> owner;  ///< thread + 1
    std::atomic<std::int16_t> doubts;
    std::atomic<bool> broken;
  };
  static_assert(sizeof(Channel) == 64);
  /// A receive whose number is open, or was open when it was posted.
  struct Waiting {
    std::uint64_t ticket;  ///< 0: nobody will ask for its number
    std::int32_t peer, tag;
    MessageNumber number;
    bool is_counted;
  };
  /// Receives of one communicator, in the order in which they were posted.
  struct Queue {
    std::atomic<std::int32_t> communicator_plus_1;
    std::atomic<std::int32_t> owner;
    std::atomic<bool> broken;
    std::uint32_t count;
    Waiting waiting[max_waiting];
  };

  static std::uint64_t key_of(const ChannelUse& use) {
    return std::uint64_t{1} << 63 | std::uint64_t{use.is_receive} << 62 |
           std::uint64_t{events::tag_bucket(use.tag)} << 57 |
           static_cast<std::uint64_t>(static_cast<std::uint32_t>(use.communicator)) << 31 |
           static_cast<std::uint32_t>(use.peer);
  }
  static std::uint64_t slot_of(std::uint64_t key) {
    static_assert(slots == 1u << 16);
    return key * 0x9e3779b97f4a7c15u >> 48;
  }
  /// The common case in few instructions: one thread makes calls, there are no wildcards, nothing is in doubt, and the
  /// channel's last message had this tag. False: nothing was counted.
  bool count_plain(const ChannelUse& use, MessageNumber& number) {
    if (!is_plain_[use.is_receive].load(std::memory_order_relaxed) || (use.communicator | use.peer | use.tag) < 0)
      return false;
    const std::uint64_t key = key_of(use);
    Channel& channel = table_[slot_of(key)];
    if (channel.key.load(std::memory_order_relaxed) != key ||
        channel.last_tag_plus_1.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(use.tag) + 1)
      return false;
    number = {channel.count.load(std::memory_order_relaxed), channel.tags.load(std::memory_order_relaxed)};
    channel.count.store(number.ordinal + 1, std::memory_order_relaxed);
    channel.tags.store(number.tags_before + channel.last_hash.load(std::memory_order_relaxed),
                       std::memory_order_relaxed);
    return true;
  }
  void end_plain() {
    for (std::atomic<bool>& is_plain : is_plain_) is_plain.store(false, std::memory_order_relaxed);
  }
  MessageNumber count_other(const ChannelUse& use, bool& is_full);
  MessageNumber post_other(const ChannelUse& use, bool& is_full);
  MessageNumber complete_other(const MessageNumber& ticket, const ChannelUse& told);
  void note_trouble() {
    has_trouble_.store(true);
    end_plain();
  }
  Channel* find(const ChannelUse& use, bool may_add);
  Channel* find_or_add(const ChannelUse& use, bool& is_full);
  template <class Owned>
  void take(Owned& owned, std::int32_t thread);
  MessageNumber count_in(Channel& channel, std::int32_t tag);
  bool is_unsure(Channel& channel, std::int32_t thread);
  Queue* queue_of(std::int32_t communicator, bool may_add);
  bool is_usable(Queue& queue, std::int32_t thread);
  bool must_wait(const Queue& queue, std::uint32_t before, std::int32_t peer, std::int32_t tag) const;
  Waiting* append(Queue& queue, const ChannelUse& use, std::uint64_t ticket);
  Waiting* find_ticket(Queue& queue, std::uint64_t ticket);
  void count_waiting(Queue& queue, std::int32_t thread);
  void break_receives(std::int32_t communicator);
  MessageNumber checked(const MessageNumber& number, const ChannelUse& use);

  Channel* table_ = nullptr;
  Queue* queues_ = nullptr;
  bool is_threaded_ = false;
  std::atomic<bool> has_trouble_{false};  ///< a channel or queue is broken or in doubt, so numbers must be checked
  std::atomic<bool> has_queues_{false};
  std::atomic<bool> all_receives_broken_{false};
  std::atomic<bool> is_plain_[2]{};  ///< [is_receive]: count_plain() may count
  std::atomic<std::uint64_t> tickets_{0};
};

}  // namespace refrain::adapters::mpi
