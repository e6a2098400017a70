#include "adapters/mpi/identities/communications.hpp"

#include "adapters/mpi/identities/channels.hpp"
#include "adapters/mpi/identities/windows.hpp"

namespace refrain::adapters::mpi {

using events::Kind;
using events::Phase;
using events::Record;
using measurement::Location;

namespace {

constinit Channels channels;

/// Ids that stand for several communicators, whose messages have no common order.
constexpr std::size_t max_communicators = 65'536;
std::atomic<bool> any_merged{false};
std::atomic<std::uint64_t> merged[max_communicators / 64];

/// Collective operations begun, by communicator. No two threads begin one on the same communicator at the same time.
std::atomic<std::uint64_t> operations[max_communicators];
constexpr std::uint64_t has_failed = std::uint64_t{1} << 63;

/// Fences ended, by window. No two threads are in a fence of the same window at the same time.
constexpr std::size_t max_windows = 65'536;
std::atomic<std::uint64_t> fences[max_windows];

bool has_slot(std::int32_t id) { return id >= 0 && static_cast<std::size_t>(id) < max_communicators; }

bool is_merged(std::int32_t id) {
  return any_merged.load(std::memory_order_relaxed) && has_slot(id) &&
         (merged[id / 64].load(std::memory_order_relaxed) >> id % 64 & 1) != 0;
}

/// False: numbers are not kept, or the program has made calls that were not counted.
bool are_numbered() { return channels.exists() && !measurement::messages_go_uncounted.load(std::memory_order_relaxed); }
bool are_numbered_on(std::int32_t communicator) { return are_numbered() && !is_merged(communicator); }

bool is_numbered(const TrackedRequest& request) {
  return channels.exists() && events::is_message(request.kind) && !request.partitioned;
}

ChannelUse use_of(Kind kind, const Envelope& envelope, std::int32_t thread) {
  return {id_of_communicator(envelope.comm), rank_or_any(envelope.peer), tag_or_any(envelope.tag),
          kind == Kind::Receive, thread};
}
/// The channel as the request was posted.
ChannelUse use_of(const TrackedRequest& request, std::int32_t thread) {
  return {request.communicator, request.peer, request.tag, request.kind == Kind::Receive, thread};
}
/// The channel according to the status of a receive; where the status does not tell, as it was posted.
ChannelUse use_of(const TrackedRequest& request, const MPI_Status& status, std::int32_t thread) {
  if (request.kind != Kind::Receive || request.untold) return use_of(request, thread);
  return {request.communicator, rank_or_any(status.MPI_SOURCE), tag_or_any(status.MPI_TAG), true, thread};
}
bool is_wild(const ChannelUse& use) { return use.peer < 0 || use.tag < 0; }

/// The number of a message. A receive that completes later (`is_posted`) may get a ticket in its place.
MessageNumber number_of(Location& l, const ChannelUse& use, bool is_posted = false) {
  if (!are_numbered_on(use.communicator)) return {};
  bool is_full = false;
  const MessageNumber number = is_posted ? channels.post(use, is_full) : channels.count(use, is_full);
  if (is_full) l.count_loss(measurement::Loss::MessagesUnnumbered);
  return number;
}

/// The call has begun a collective operation on the communicator: returns how many came before.
MessageNumber number_of_collective(std::int32_t communicator) {
  if (!are_numbered_on(communicator) || !has_slot(communicator)) return {};
  std::atomic<std::uint64_t>& count = operations[communicator];
  const std::uint64_t before = count.load(std::memory_order_relaxed);
  if (before >= has_failed) return {};
  count.store(before + 1, std::memory_order_relaxed);
  return {before, 0};
}

/// A receive keeps its number, or ticket, until it completes.
MessageNumber kept_number(const TrackedRequest& request) {
  return request.kind == Kind::Receive ? MessageNumber{request.ordinal, request.tags_before} : MessageNumber{};
}
void keep_number(TrackedRequest& request, const MessageNumber& number) {
  request.ordinal = number.ordinal;
  request.tags_before = number.tags_before;
}

/// The number of a receive that has completed.
MessageNumber number_of_completed(TrackedRequest& request, const ChannelUse& told, bool cancelled) {
  if (!is_numbered(request)) return {};
  const ChannelUse posted = use_of(request, told.thread);
  const MessageNumber kept = kept_number(request);
  if (request.doubted || cancelled) {
    if (!request.doubted) channels.doubt(posted);
    channels.end_doubt(kept, posted, cancelled);
    request.doubted = false;
  }
  if (cancelled || request.kind != Kind::Receive) return {};
  if (is_wild(told)) return channels.give_up(kept, posted), MessageNumber{};
  const MessageNumber number = channels.complete(kept, told);
  return are_numbered_on(told.communicator) ? number : MessageNumber{};
}

/// Matched messages between probe and receive, of which there are few at a time.
struct MatchedMessage {
  std::int32_t communicator = events::unknown_communicator;
  MessageNumber number;
};
struct Matched {
  std::atomic<std::uint64_t> key;
  MatchedMessage message;
};
constexpr unsigned max_matched = 64;
constexpr std::uint64_t in_change = 1;
constinit Matched matched_messages[max_matched]{};
std::uint64_t key_of(MPI_Message message) { return handle_bits(message) << 1 | std::uint64_t{1} << 63; }

MatchedMessage take_matched(MPI_Message message) {
  if (channels.exists())
    for (Matched& slot : matched_messages) {
      std::uint64_t key = key_of(message);
      if (!slot.key.compare_exchange_strong(key, in_change)) continue;
      const MatchedMessage found = slot.message;
      slot.key.store(0);
      return found;
    }
  return {};
}

/// False while no events are kept, and for calls that began while MPI_Pcontrol had stopped the measurement.
bool is_noted(const Location& l) { return l.keeps_events && l.call.values != l.while_stopped.row; }

void note(Location& l, Record& record, const MessageNumber& number = {}) {
  if (is_noted(l)) measurement::note_communication(l, record, number);
}

/// The record of a communication that one call has begun and completed.
Record whole(Kind kind, std::int32_t peer, std::int32_t tag, std::int32_t communicator, Traffic traffic = {}) {
  Record r;
  r.kind = kind;
  r.peer = peer;
  r.tag = tag;
  r.communicator = communicator;
  r.bytes_sent = traffic.sent;
  r.bytes_received = traffic.received;
  return r;
}

Record record_of(const TrackedRequest& request, Phase phase) {
  Record r;
  r.kind = request.kind;
  r.phase = phase;
  r.peer = request.peer;
  r.tag = request.tag;
  r.communicator = request.communicator;
  r.request = request.number;
  if (phase != Phase::Begun) {
    r.begun_thread = request.begun.thread;
    r.begun_node = static_cast<std::uint32_t>(request.begun.node);
  }
  if (r.kind != Kind::Receive) {
    r.bytes_sent = request.bytes_sent;
    r.bytes_received = request.bytes_received;
  }
  return r;
}

}  // namespace

void start_numbering() {
  if (!measurement::events_are_kept()) return;
  int level = MPI_THREAD_MULTIPLE;
  pmpi.Query_thread(&level);
  if (channels.create(level == MPI_THREAD_MULTIPLE)) constants.channels_are_claimed = channels.is_threaded();
}

void merge_communicator(std::int32_t id) {
  if (!has_slot(id)) return;
  merged[id / 64].fetch_or(std::uint64_t{1} << id % 64);
  any_merged.store(true);
}

void claim_channel(Kind kind, const Envelope& envelope) {
  const Location* location = measurement::own_location();
  if (location && envelope.peer != MPI_PROC_NULL) channels.claim(use_of(kind, envelope, location->thread));
}

void claim_channel(const TrackedRequest& request) {
  const Location* location = measurement::own_location();
  if (location && is_numbered(request)) channels.claim(use_of(request, location->thread));
}

void note_message(Location& l, Kind kind, const Envelope& envelope, std::int64_t bytes) {
  const bool is_receive = kind == Kind::Receive;
  Record r = whole(kind, envelope.peer, envelope.tag, id_of_communicator(envelope.comm));
  (is_receive ? r.bytes_received : r.bytes_sent) = bytes;
  note(l, r, number_of(l, {r.communicator, r.peer, r.tag, is_receive, l.thread}));
}

void note_begun(Location& l, TrackedRequest& request) {
  MessageNumber number;
  if (request.kind == Kind::Receive) {
    if (!request.matched)
      keep_number(request, request.partitioned ? number : number_of(l, use_of(request, l.thread), true));
  } else if (request.kind == Kind::Send) {
    if (!request.partitioned) number = number_of(l, use_of(request, l.thread));
  } else if (request.kind == Kind::Collective && !request.persistent) {  // persistent ones may be started in any order
    number = number_of_collective(request.communicator);
  }
  Record r = record_of(request, Phase::Begun);
  note(l, r, number);
}

void note_untracked_receive(Location& l, const Envelope& from) {
  const ChannelUse use = use_of(Kind::Receive, from, l.thread);
  if (!are_numbered_on(use.communicator)) return;
  if (is_wild(use)) channels.break_channel(use);
  else (void)number_of(l, use);
}

void note_completed(Location& l, TrackedRequest& request, const MPI_Status& status, std::int64_t bytes,
                    bool cancelled) {
  const ChannelUse told = use_of(request, status, l.thread);
  const MessageNumber number = number_of_completed(request, told, cancelled);
  Record r = record_of(request, cancelled ? Phase::Cancelled : Phase::Completed);
  if (!cancelled) {
    r.peer = told.peer;
    r.tag = told.tag;
  }
  if (is_counted_at_completion(r.kind)) (r.kind == Kind::Write ? r.bytes_sent : r.bytes_received) = bytes;
  note(l, r, number);
}

void note_given_up(Location& l, TrackedRequest& request) {
  if (!request.active || !is_numbered(request)) return;
  const ChannelUse posted = use_of(request, l.thread);
  if (request.doubted) channels.break_channel(posted);
  request.doubted = false;
  if (request.kind == Kind::Receive) channels.give_up(kept_number(request), posted);
}

void doubt(MPI_Request handle) {
  if (!channels.exists()) return;
  TrackedRequest* request = request_table.find(handle_bits(handle));
  if (!request || !request->active || request->doubted || !is_numbered(*request)) return;
  request->doubted = true;
  channels.doubt(use_of(*request, 0));
}

bool has_waiting_receives() { return channels.has_waiting_receives(); }

void note_status(Location& l, const TrackedRequest& request, const MPI_Status& status) {
  if (!request.active || !is_numbered(request) || request.kind != Kind::Receive) return;
  const ChannelUse told = use_of(request, status, l.thread);
  if (!is_wild(told)) channels.resolve(kept_number(request), told);
}

void note_failed(Location& l, Kind kind, const Envelope& envelope) {
  if (channels.exists() && envelope.peer != MPI_PROC_NULL) channels.break_channel(use_of(kind, envelope, l.thread));
}

void note_matched(Location& l, MPI_Comm comm, MPI_Message message, const MPI_Status& status) {
  if (!channels.exists() || message == constants.no_message) return;
  const std::int32_t communicator = id_of_communicator(comm);
  const MessageNumber number = number_of(l, {communicator, status.MPI_SOURCE, status.MPI_TAG, true, l.thread});
  for (Matched& slot : matched_messages) {
    std::uint64_t free = 0;
    if (!slot.key.compare_exchange_strong(free, in_change)) continue;
    slot.message = {communicator, number};
    slot.key.store(key_of(message));
    return;
  }
}

void note_matched_receive(Location& l, const MPI_Status& status, MPI_Message message, std::int64_t bytes) {
  const MatchedMessage matched = take_matched(message);
  Record r = whole(Kind::Receive, status.MPI_SOURCE, status.MPI_TAG, matched.communicator, {0, bytes});
  note(l, r, matched.number);
}

void take_matched(TrackedRequest& request, MPI_Message message) {
  const MatchedMessage matched = take_matched(message);
  request.matched = true;
  request.communicator = matched.communicator;
  keep_number(request, matched.number);
}

void note_collective(Location& l, MPI_Comm comm, int root, Traffic traffic) {
  Record r = whole(Kind::Collective, rank_of_root(root), 0, id_of_communicator(comm), traffic);
  const MessageNumber number = number_of_collective(r.communicator);
  if (!is_noted(l)) return;
  if (const std::uint64_t identity = identity_if_of_all(r.communicator))
    measurement::note_operation_of_all(l, identity);
  measurement::note_communication(l, r, number);
}

void fail_collective(MPI_Comm comm) {
  const std::int32_t communicator = id_of_communicator(comm);
  if (has_slot(communicator)) operations[communicator].store(has_failed, std::memory_order_relaxed);
}

void note_one_sided(Location& l, MPI_Win win, int target, Traffic traffic) {
  Record r = whole(Kind::OneSided, target, 0, id_of_window(win), traffic);
  note(l, r);
}

void note_fence(Location& l, MPI_Win win) {
  Record r = whole(Kind::Synchronization, events::no_peer, events::any_tag, id_of_window(win));
  r.ordinal = events::no_ordinal;
  if (are_numbered() && r.communicator >= 0 && static_cast<std::size_t>(r.communicator) < max_windows) {
    std::atomic<std::uint64_t>& count = fences[r.communicator];
    r.ordinal = count.load(std::memory_order_relaxed);
    count.store(r.ordinal + 1, std::memory_order_relaxed);
  }
  note(l, r);
}

void note_synchronized(Location& l, MPI_Win win, int target, bool is_exclusive) {
  Record r = whole(Kind::Synchronization, target == MPI_PROC_NULL ? events::no_peer : target,
                   is_exclusive ? events::exclusive_lock : events::any_tag, id_of_window(win));
  r.ordinal = events::no_ordinal;
  note(l, r);
}

void note_access(Location& l, Kind kind, std::int64_t bytes) {
  Record r = whole(kind, events::no_peer, 0, events::unknown_communicator);
  (kind == Kind::Read ? r.bytes_received : r.bytes_sent) = bytes;
  note(l, r);
}

}  // namespace refrain::adapters::mpi
