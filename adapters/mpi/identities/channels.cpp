#include "adapters/mpi/identities/channels.hpp"

#include <cstring>

#include "platform/pages.hpp"

namespace refrain::adapters::mpi {

using events::any_peer, events::any_tag, events::no_ordinal, events::tag_bucket;

namespace {

constexpr std::uint64_t is_ticket = std::uint64_t{1} << 63;
constexpr unsigned longest_probe = 16;

bool is_open(const MessageNumber& ticket) { return ticket.ordinal != no_ordinal && (ticket.ordinal & is_ticket) != 0; }

bool is_wild(std::int32_t peer, std::int32_t tag) { return peer == any_peer || tag == any_tag; }

}  // namespace

bool Channels::create(bool is_threaded) {
  if (table_) return true;
  void* memory = platform::map_pages(slots * sizeof(Channel) + max_queues * sizeof(Queue));
  if (!memory) return false;
  queues_ = reinterpret_cast<Queue*>(static_cast<std::byte*>(memory) + slots * sizeof(Channel));
  is_threaded_ = is_threaded;
  table_ = static_cast<Channel*>(memory);
  for (std::atomic<bool>& is_plain : is_plain_) is_plain.store(!is_threaded, std::memory_order_relaxed);
  return true;
}

Channels::Channel* Channels::find(const ChannelUse& use, bool may_add) {
  if (use.communicator < 0 || use.communicator >= 1 << 26 || use.peer < 0 || use.tag < 0) return nullptr;
  const std::uint64_t key = key_of(use);
  std::uint64_t at = slot_of(key);
  for (unsigned probe = 0; probe < longest_probe; ++probe, at = (at + 1) & (slots - 1)) {
    std::uint64_t there = table_[at].key.load(std::memory_order_relaxed);
    if (there == key) [[likely]]
      return &table_[at];
    if (there != 0) continue;
    if (!may_add) return nullptr;
    // All other fields are zero already.
    if (table_[at].key.compare_exchange_strong(there, key, std::memory_order_relaxed) || there == key)
      return &table_[at];
  }
  return nullptr;
}

/// Null: the communicator is unknown, or there is no room.
Channels::Channel* Channels::find_or_add(const ChannelUse& use, bool& is_full) {
  if (use.communicator < 0) return nullptr;
  Channel* channel = find(use, true);
  is_full |= channel == nullptr;
  return channel;
}

MessageNumber Channels::count_in(Channel& channel, std::int32_t tag) {
  // One thread at a time does this; otherwise the number is not used.
  const MessageNumber number{channel.count.load(std::memory_order_relaxed),
                             channel.tags.load(std::memory_order_relaxed)};
  channel.count.store(number.ordinal + 1, std::memory_order_relaxed);
  const std::uint32_t tag_plus_1 = static_cast<std::uint32_t>(tag) + 1;
  if (channel.last_tag_plus_1.load(std::memory_order_relaxed) != tag_plus_1) [[unlikely]] {
    channel.last_tag_plus_1.store(tag_plus_1, std::memory_order_relaxed);
    channel.last_hash.store(events::hash_of_tag(tag), std::memory_order_relaxed);
  }
  channel.tags.store(number.tags_before + channel.last_hash.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return number;
}

/// With several threads, makes the caller the owner if there is none. A channel or queue that two threads use is
/// broken.
template <class Owned>
void Channels::take(Owned& owned, std::int32_t thread) {
  if (!is_threaded_) [[likely]]
    return;
  std::int32_t owner = 0;
  if (owned.owner.compare_exchange_strong(owner, thread + 1) || owner == thread + 1) return;
  owned.broken.store(true);
  note_trouble();
}

bool Channels::is_unsure(Channel& channel, std::int32_t thread) {
  take(channel, thread);
  return channel.broken.load(std::memory_order_relaxed) || channel.doubts.load(std::memory_order_relaxed) != 0;
}

Channels::Queue* Channels::queue_of(std::int32_t communicator, bool may_add) {
  if (communicator < 0) return nullptr;
  for (unsigned i = 0; i < max_queues; ++i) {
    Queue& queue = queues_[(static_cast<unsigned>(communicator) + i) % max_queues];
    std::int32_t there = queue.communicator_plus_1.load();
    if (there == communicator + 1) return &queue;
    if (there != 0) continue;
    if (!may_add) return nullptr;
    if (queue.communicator_plus_1.compare_exchange_strong(there, communicator + 1) || there == communicator + 1) {
      has_queues_.store(true);
      is_plain_[true].store(false, std::memory_order_relaxed);
      return &queue;
    }
  }
  return nullptr;
}

/// Claims the queue, whose contents belong to the owner alone.
bool Channels::is_usable(Queue& queue, std::int32_t thread) {
  take(queue, thread);
  return !queue.broken.load(std::memory_order_relaxed);
}

/// Whether one of the first `before` receives could still take what a receive from `peer` with `tag` has taken, or must
/// be counted on the same channel before it.
bool Channels::must_wait(const Queue& queue, std::uint32_t before, std::int32_t peer, std::int32_t tag) const {
  for (std::uint32_t i = 0; i < before; ++i) {
    const Waiting& earlier = queue.waiting[i];
    if (earlier.is_counted) continue;
    const bool is_same_peer = earlier.peer == any_peer || peer == any_peer || earlier.peer == peer;
    const bool is_same_bucket = earlier.tag == any_tag || tag == any_tag || tag_bucket(earlier.tag) == tag_bucket(tag);
    if (is_same_peer && is_same_bucket) return true;
  }
  return false;
}

/// Null: there was no room, and the queue is broken.
Channels::Waiting* Channels::append(Queue& queue, const ChannelUse& use, std::uint64_t ticket) {
  if (queue.count == max_waiting) {
    queue.broken.store(true);
    note_trouble();
    return nullptr;
  }
  Waiting& waiting = queue.waiting[queue.count++];
  waiting = {ticket, use.peer, use.tag, {}, false};
  return &waiting;
}

Channels::Waiting* Channels::find_ticket(Queue& queue, std::uint64_t ticket) {
  for (std::uint32_t i = 0; i < queue.count; ++i)
    if (queue.waiting[i].ticket == ticket) return &queue.waiting[i];
  return nullptr;
}

/// Counts the receives that can be counted now, and removes those whose number nobody will ask for.
void Channels::count_waiting(Queue& queue, std::int32_t thread) {
  for (std::uint32_t i = 0; i < queue.count; ++i) {
    Waiting& waiting = queue.waiting[i];
    if (waiting.is_counted || is_wild(waiting.peer, waiting.tag) || must_wait(queue, i, waiting.peer, waiting.tag))
      continue;
    waiting.is_counted = true;
    Channel* channel = find({queue.communicator_plus_1.load() - 1, waiting.peer, waiting.tag, true, thread}, true);
    if (!channel) continue;
    waiting.number = count_in(*channel, waiting.tag);
    (void)is_unsure(*channel, thread);
  }
  std::uint32_t stay = 0;
  for (std::uint32_t i = 0; i < queue.count; ++i)
    if (const Waiting& of = queue.waiting[i]; of.ticket != 0 || !of.is_counted) queue.waiting[stay++] = of;
  queue.count = stay;
}

void Channels::break_receives(std::int32_t communicator) {
  note_trouble();
  if (Queue* queue = queue_of(communicator, true)) queue->broken.store(true);
  else all_receives_broken_.store(true);
}

/// The number of a receive that was counted earlier, if it is still valid, or none.
MessageNumber Channels::checked(const MessageNumber& number, const ChannelUse& use) {
  if (!has_trouble_.load() || number.ordinal == no_ordinal) [[likely]]
    return number;
  if (use.is_receive) {
    if (all_receives_broken_.load()) return {};
    if (Queue* queue = queue_of(use.communicator, false); queue && queue->broken.load()) return {};
  }
  const Channel* channel = find(use, false);
  if (!channel || channel->broken.load() || channel->doubts.load() != 0) return {};
  return number;
}

MessageNumber Channels::count_other(const ChannelUse& use, bool& is_full) {
  if (use.is_receive && has_queues_.load(std::memory_order_relaxed)) [[unlikely]] {
    if (Queue* queue = queue_of(use.communicator, false)) {
      if (!is_usable(*queue, use.thread)) return {};
      if (must_wait(*queue, queue->count, use.peer, use.tag)) {
        is_full |= append(*queue, use, 0) == nullptr;
        return {};
      }
    }
  }
  Channel* channel = find_or_add(use, is_full);
  if (!channel) [[unlikely]]
    return {};
  const MessageNumber number = count_in(*channel, use.tag);
  if (is_unsure(*channel, use.thread)) [[unlikely]]
    return {};
  return use.is_receive ? checked(number, use) : number;
}

MessageNumber Channels::post_other(const ChannelUse& use, bool& is_full) {
  const bool wild = is_wild(use.peer, use.tag);
  Queue* queue = wild || has_queues_.load(std::memory_order_relaxed) ? queue_of(use.communicator, wild) : nullptr;
  if (wild && !queue) {
    is_full = true;
    break_receives(use.communicator);
    return {};
  }
  if (queue) {
    if (!is_usable(*queue, use.thread)) return {};
    if (wild || must_wait(*queue, queue->count, use.peer, use.tag)) {
      const std::uint64_t ticket = tickets_.fetch_add(1, std::memory_order_relaxed) + 1;
      if (append(*queue, use, ticket)) return {is_ticket | ticket, 0};
      is_full = true;
      return {};
    }
  }
  Channel* channel = find_or_add(use, is_full);
  if (!channel) [[unlikely]]
    return {};
  // The channel may be in doubt now, but need not be when the receive completes.
  const MessageNumber number = count_in(*channel, use.tag);
  (void)is_unsure(*channel, use.thread);
  return number;
}

void Channels::resolve(const MessageNumber& ticket, const ChannelUse& told) {
  if (!is_open(ticket)) return;
  Queue* queue = queue_of(told.communicator, false);
  if (!queue || !is_usable(*queue, told.thread)) return;
  if (Waiting* waiting = find_ticket(*queue, ticket.ordinal & ~is_ticket)) {
    if (!is_wild(waiting->peer, waiting->tag)) return;
    waiting->peer = told.peer;
    waiting->tag = told.tag;
    count_waiting(*queue, told.thread);
  }
}

MessageNumber Channels::complete_other(const MessageNumber& ticket, const ChannelUse& told) {
  if (!is_open(ticket)) [[likely]]
    return checked(ticket, told);
  resolve(ticket, told);
  Queue* queue = queue_of(told.communicator, false);
  if (!queue || !is_usable(*queue, told.thread)) return {};
  Waiting* waiting = find_ticket(*queue, ticket.ordinal & ~is_ticket);
  if (!waiting) return {};
  const MessageNumber number = waiting->number;
  waiting->ticket = 0;
  count_waiting(*queue, told.thread);
  return checked(number, told);
}

void Channels::give_up(const MessageNumber& ticket, const ChannelUse& posted) {
  if (!is_open(ticket)) {
    // The place of the receive in the order is known.
    if (ticket.ordinal == no_ordinal && is_wild(posted.peer, posted.tag)) break_receives(posted.communicator);
    return;
  }
  Queue* queue = queue_of(posted.communicator, false);
  if (!queue || !is_usable(*queue, posted.thread)) return;
  Waiting* waiting = find_ticket(*queue, ticket.ordinal & ~is_ticket);
  if (!waiting) return;
  if (is_wild(waiting->peer, waiting->tag)) return break_receives(posted.communicator);
  waiting->ticket = 0;
  count_waiting(*queue, posted.thread);
}

void Channels::doubt(const ChannelUse& posted) {
  // A receive with a wildcard, or behind one, is open anyway, but it may be counted before it is known to be cancelled.
  if (is_wild(posted.peer, posted.tag)) return;
  note_trouble();
  if (Channel* channel = find(posted, true)) channel->doubts.fetch_add(1);
}

void Channels::end_doubt(const MessageNumber& ticket, const ChannelUse& posted, bool was_cancelled) {
  Channel* channel = is_wild(posted.peer, posted.tag) ? nullptr : find(posted, false);
  if (was_cancelled && is_open(ticket)) {
    Queue* queue = queue_of(posted.communicator, false);
    Waiting* waiting =
        queue && is_usable(*queue, posted.thread) ? find_ticket(*queue, ticket.ordinal & ~is_ticket) : nullptr;
    if (waiting && !waiting->is_counted) {
      // It never had a place in the order.
      std::memmove(waiting, waiting + 1,
                   static_cast<std::size_t>(queue->waiting + --queue->count - waiting) * sizeof *waiting);
      count_waiting(*queue, posted.thread);
    } else if (channel) {
      channel->broken.store(true);
    }
  } else if (was_cancelled && channel) {
    if (ticket.ordinal != no_ordinal && channel->count.load() == ticket.ordinal + 1) {
      channel->count.store(ticket.ordinal);
      channel->tags.store(ticket.tags_before);
    } else {
      channel->broken.store(true);
    }
  }
  if (channel) channel->doubts.fetch_sub(1);
}

void Channels::break_channel(const ChannelUse& use) {
  if (is_wild(use.peer, use.tag)) return break_receives(use.communicator);
  note_trouble();
  if (Channel* channel = find(use, true)) channel->broken.store(true);
  else if (use.is_receive && use.communicator >= 0) break_receives(use.communicator);
}

void Channels::claim(const ChannelUse& use) {
  if (use.communicator < 0) return;
  if (is_wild(use.peer, use.tag)) {
    Queue* queue = queue_of(use.communicator, true);
    if (!queue) return break_receives(use.communicator);
    (void)is_usable(*queue, use.thread);
    return;
  }
  if (use.is_receive && has_queues_.load())
    if (Queue* queue = queue_of(use.communicator, false)) (void)is_usable(*queue, use.thread);
  if (Channel* channel = find(use, true)) (void)is_unsure(*channel, use.thread);
}

}  // namespace refrain::adapters::mpi
