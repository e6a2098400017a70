#include "offline/trace/pairing.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "format/hashing.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::trace {

using events::Kind;
using events::no_ordinal;
using events::Phase;
using events::Record;

const char* name_of(LeftOut reason) {
  constexpr const char* names[reasons] = {"unnumbered", "not_kept",      "other_order",
                                          "outside",    "contradiction", "forgotten"};
  return names[static_cast<std::size_t>(reason)];
}

double MessageCounts::share_of_pairs() const {
  const auto both = static_cast<double>(2 * paired);
  const double all = both + static_cast<double>(std::accumulate(left_out.begin(), left_out.end(), std::uint64_t{0}));
  return all > 0 ? both / all : 1;
}

std::size_t HashOfMessageKey::operator()(const MessageKey& key) const {
  const auto word = [](std::int32_t high, std::int32_t low) {
    return std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | static_cast<std::uint32_t>(low);
  };
  // Each word is first multiplied by its own odd number, so that differences in two of them do not cancel out.
  return format::mixed(word(key.from, key.to) * 0x9e3779b97f4a7c15 +
                       word(key.communicator, key.tags) * 0xc2b2ae3d27d4eb4f + key.ordinal * 0x165667b19e3779f9);
}

Pairing::Pairing(std::size_t locations, bool numbered, Ends ends, Take take, TakeAlone alone)
    : numbered_(numbered),
      ends_(std::move(ends)),
      take_(std::move(take)),
      alone_(std::move(alone)),
      // Enough for iterations with a thousand open messages of each location.
      most_waiting_((std::size_t{1} << 16) + locations * 1024),
      of_location_(locations) {}

Pairing::Posted* Pairing::OfLocation::open(std::uint64_t request) {
  // Blocking receives have no request; their field may hold the number of another one.
  const auto is_it = [&](const Posted& of) { return of.request == request && !of.received && !of.is_gone; };
  // Mostly a recent one.
  const auto at = std::find_if(posted.rbegin(), posted.rend(), is_it);
  return at == posted.rend() ? nullptr : &*at;
}

void Pairing::add(const Event& event, std::uint32_t token) {
  sent_.reset();
  other_ = -1;
  if (event.type == Type::Communication && events::is_message(event.record.kind)) message(event, token);
}

std::size_t Pairing::bytes() const {
  constexpr std::size_t of_node = 64;  // node of a hash table
  std::size_t all = waiting_.bytes() + counted_.size() * of_node + of_location_.size() * sizeof(OfLocation);
  for (const OfLocation& of : of_location_) all += of.posted.size() * sizeof(Posted);
  return all;
}

const ChannelEnds& Pairing::ends_of(const Event& event) {
  OfLocation& of = of_location_[event.location];
  const Record& r = event.record;
  if (!of.ends || of.communicator != r.communicator || of.peer != r.peer) {
    of.communicator = r.communicator;
    of.peer = r.peer;
    of.ends = ends_(event);
  }
  return *of.ends;
}

std::size_t Pairing::WaitingTable::slot_of(const Key& key, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask; slots_[at] != 0; at = (at + 1) & mask)
    if (const Entry& entry = entries_[slots_[at]]; entry.hash == hash && entry.waiting.key == key) return at;
  return no_slot;
}

const Pairing::Waiting* Pairing::WaitingTable::find(const Key& key, std::uint32_t hash) const {
  const std::size_t at = slot_of(key, hash);
  return at == no_slot ? nullptr : &entries_[slots_[at]].waiting;
}

void Pairing::WaitingTable::add(const Waiting& waiting, std::uint32_t hash) {
  if (2 * (size_ + 1) > slots_.size()) grow();
  std::uint32_t place;
  if (free_.empty()) {
    place = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    place = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[place];
  entry = {waiting, entries_[0].before, 0, hash};
  entries_[entry.before].next = place;
  entries_[0].before = place;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = entry.hash & mask;
  while (slots_[at] != 0) at = (at + 1) & mask;
  slots_[at] = place;
  ++size_;
}

void Pairing::WaitingTable::remove(const Key& key, std::uint32_t hash) {
  std::size_t at = slot_of(key, hash);
  if (at == no_slot) return;
  const std::uint32_t place = slots_[at];
  const Entry& entry = entries_[place];
  entries_[entry.before].next = entry.next;
  entries_[entry.next].before = entry.before;
  free_.push_back(place);
  --size_;
  // An entry that the free slot would hide moves into it.
  const std::size_t mask = slots_.size() - 1;
  slots_[at] = 0;
  for (std::size_t next = (at + 1) & mask; slots_[next] != 0; next = (next + 1) & mask) {
    const std::size_t wanted = entries_[slots_[next]].hash & mask;
    if (((next - wanted) & mask) < ((next - at) & mask)) continue;
    slots_[at] = std::exchange(slots_[next], 0);
    at = next;
  }
}

void Pairing::WaitingTable::grow() {
  slots_.assign(2 * slots_.size(), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t place = entries_[0].next; place != 0; place = entries_[place].next) {
    std::size_t at = entries_[place].hash & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = place;
  }
}

void Pairing::message(const Event& event, std::uint32_t token) {
  const Record& r = event.record;
  OfLocation& of = of_location_[event.location];
  if (!events::has_number(r.kind, r.phase)) {
    if (numbered_ || r.kind != Kind::Receive) return;
    if (r.phase == Phase::Begun) of.posted.push_back({r.request, std::nullopt, false});
    if (r.phase != Phase::Cancelled) return;
    if (Posted* posted = of.open(r.request)) posted->is_gone = true;
    return release_posted(of);
  }
  const bool is_send = r.kind == Kind::Send;
  ++(is_send ? counts_.sends : counts_.receives);
  const ChannelEnds ends = ends_of(event);
  other_ = ends.other;
  Waiting waiting{
      {ends.communicator, is_send ? ends.own : ends.other, is_send ? ends.other : ends.own,
       numbered_ ? static_cast<std::int32_t>(events::tag_bucket(r.tag)) : r.tag, r.ordinal},
      is_send,
      // Some operations do not report how much they received.
      is_send || r.bytes_received > 0,
      r.tags_before,
      {event.location, event.time_ns, of.position++, is_send ? r.bytes_sent : r.bytes_received, r.tag, token}};
  if (!numbered_) return add_by_order(of, event, std::move(waiting));
  if (r.ordinal == no_ordinal) return leave_out(waiting, LeftOut::Unnumbered);
  if (ends.communicator < 0 || ends.other < 0) return leave_out(waiting, LeftOut::Outside);
  match(waiting);
}

/// A receive waits for those that were posted before it: its place is behind theirs.
void Pairing::add_by_order(OfLocation& of, const Event& event, Waiting waiting) {
  if (waiting.is_send) return count_on(std::move(waiting));
  if (event.record.phase == Phase::Completed) {
    Posted* posted = of.open(event.record.request);
    if (!posted) return leave_out(waiting, LeftOut::NotKept);  // where it was posted is not known
    posted->received = std::move(waiting);
  } else if (of.posted.empty()) {
    return count_on(std::move(waiting));
  } else {
    of.posted.push_back({0, std::move(waiting), false});
  }
  release_posted(of);
}

void Pairing::release_posted(OfLocation& of) {
  for (; !of.posted.empty() && (of.posted.front().received || of.posted.front().is_gone); of.posted.pop_front())
    if (of.posted.front().received) count_on(std::move(*of.posted.front().received));
}

void Pairing::count_on(Waiting waiting) {
  if (waiting.key.communicator < 0 || waiting.key.from < 0 || waiting.key.to < 0)
    return leave_out(waiting, LeftOut::Outside);
  waiting.key.ordinal = 0;
  Sides& sides = counted_[waiting.key];
  waiting.key.ordinal = waiting.is_send ? sides.sends++ : sides.receives++;
  waiting.tags_before = 0;
  match(waiting);
}

Pairing::Waiting Pairing::take_oldest() {
  const Waiting oldest = waiting_.oldest();
  waiting_.remove(oldest.key, WaitingTable::hash_of(oldest.key));
  return oldest;
}

void Pairing::match(const Waiting& waiting) {
  const std::uint32_t hash = WaitingTable::hash_of(waiting.key);
  const Waiting* at = waiting_.find(waiting.key, hash);
  if (!at) {
    waiting_.add(waiting, hash);
    if (waiting_.size() <= most_waiting_) return;
    return leave_out(take_oldest(), LeftOut::NotKept);
  }
  // The entry stays where it was until another one is added, which does not happen below.
  const Waiting& other = *at;
  waiting_.remove(waiting.key, hash);
  if (other.is_send == waiting.is_send) {  // the same number twice: neither is known
    leave_out(other, LeftOut::Contradiction);
    return leave_out(waiting, LeftOut::Contradiction);
  }
  const LeftOut reason = other.tags_before != waiting.tags_before || other.event.tag != waiting.event.tag
                             ? LeftOut::OtherOrder
                             : LeftOut::Contradiction;
  const bool same_bytes = !other.knows_bytes || !waiting.knows_bytes || other.event.bytes == waiting.event.bytes;
  if (reason == LeftOut::OtherOrder || !same_bytes) {
    leave_out(other, reason);
    return leave_out(waiting, reason);
  }
  ++counts_.paired;
  const MessageEvent &send = waiting.is_send ? waiting.event : other.event,
                     &receive = waiting.is_send ? other.event : waiting.event;
  if (!waiting.is_send) sent_ = send;
  if (take_) take_({send, receive});
}

void Pairing::finish() {
  for (OfLocation& of : of_location_) {
    // After a receive that was never completed the places of later ones are not known.
    for (const Posted& posted : of.posted)
      if (posted.received) leave_out(*posted.received, LeftOut::Unnumbered);
    of.posted.clear();
  }
  while (waiting_.size() > 0) leave_out(take_oldest(), LeftOut::NotKept);
}

ChannelEnds ends_of(const Trace& trace, const Event& event) {
  const Communicators& communicators = trace.communicators();
  const std::int32_t rank = trace.locations()[event.location].rank;
  const Record& r = event.record;
  return {communicators.index_of(rank, r.communicator), rank, communicators.rank_of(rank, r.communicator, r.peer)};
}

Pairing pairing_of(const Trace& trace, Pairing::Take take, Pairing::TakeAlone alone) {
  const auto ends = [&trace](const Event& event) { return ends_of(trace, event); };
  return {trace.locations().size(), trace.archive() == nullptr, ends, std::move(take), std::move(alone)};
}

}  // namespace refrain::trace
