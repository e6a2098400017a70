#include "adapters/mpi/identities/telling.hpp"

#include "adapters/mpi/identities/communicators.hpp"
#include "adapters/mpi/identities/windows.hpp"
#include "measurement/listener.hpp"
#include "platform/hot.hpp"

namespace refrain::adapters::mpi {

using events::Kind, events::Phase, events::Record;
using measurement::MpiCall;

namespace {

constinit Channels channels;

/// Ids that stand for several communicators.
constexpr std::size_t max_communicators = 65'536;
REFRAIN_HOT_DATA std::atomic<bool> any_merged{false};
std::atomic<std::uint64_t> merged[max_communicators / 64];

/// Collective operations that have begun, by communicator. Of one communicator no two threads begin any at a time.
std::atomic<std::uint64_t> operations[max_communicators];
constexpr std::uint64_t has_failed = std::uint64_t{1} << 63;

/// Fences that have ended, by window. Of one window no two threads are in one at a time.
std::atomic<std::uint64_t> fences[max_windows];

bool has_place(std::int32_t id) { return id >= 0 && static_cast<std::size_t>(id) < max_communicators; }

bool is_merged(std::int32_t id) {
  return any_merged.load(std::memory_order_relaxed) && has_place(id) &&
         (merged[id / 64].load(std::memory_order_relaxed) >> id % 64 & 1) != 0;
}

bool is_numbering() {
  return channels.is_there() && !measurement::messages_go_uncounted.load(std::memory_order_relaxed);
}
bool can_be_numbered(std::int32_t communicator) { return is_numbering() && !is_merged(communicator); }

/// The next number of what is counted by one thread at a time; from `has_failed` on there is none.
MessageNumber next_number(std::atomic<std::uint64_t>& count) {
  const std::uint64_t before = count.load(std::memory_order_relaxed);
  if (before >= has_failed) return {};
  count.store(before + 1, std::memory_order_relaxed);
  return {before, 0};
}

// ---- Messages and their requests ----

bool is_receive(const TrackedRequest& request) { return request.kind == Kind::Receive; }
bool is_message(const TrackedRequest& request) { return events::is_message(request.kind) && !request.partitioned; }
bool is_wild(const ChannelUse& use) { return use.peer < 0 || use.tag < 0; }

/// A request of a message has the id of its communicator when it was begun: the handle may be freed, and be another
/// communicator's, before it completes.
constexpr std::uint64_t is_id = std::uint64_t{1} << 63;

void set_communicator(TrackedRequest& request, std::int32_t id) {
  request.communicator = is_id | static_cast<std::uint32_t>(id);
}
std::int32_t communicator_of(const TrackedRequest& request) {
  if (request.communicator & is_id) return static_cast<std::int32_t>(static_cast<std::uint32_t>(request.communicator));
  if (request.communicator == 0) return events::unknown_communicator;
  return id_of_communicator(handle_of<MPI_Comm>(request.communicator));
}

ChannelUse use_of(const Partner& partner, bool is_receive, std::int32_t thread) {
  return {id_of_communicator(partner.comm), rank_or_any(partner.peer), tag_or_any(partner.tag), is_receive, thread};
}
/// As it was posted.
ChannelUse use_of(const TrackedRequest& request, std::int32_t thread) {
  return {communicator_of(request), rank_or_any(request.peer), tag_or_any(request.tag), is_receive(request), thread};
}
/// What the status of a receive says; of one that tells nothing, what it was posted with.
ChannelUse told_use(const TrackedRequest& request, const MPI_Status& status, std::int32_t thread) {
  ChannelUse use = use_of(request, thread);
  if (!request.untold) {
    use.peer = status.MPI_SOURCE;
    use.tag = status.MPI_TAG;
  }
  return use;
}

MessageNumber kept_number(const TrackedRequest& request) {
  if (request.ordinal_plus_1 == 0) return {};
  return {request.ordinal_plus_1 - 1, request.tags_before};
}
void keep_number(TrackedRequest& request, const MessageNumber& number) {
  request.ordinal_plus_1 = number.ordinal + 1;
  request.tags_before = number.tags_before;
}

void count_if(MpiCall& call, bool is_full) {
  if (is_full) call.lost(measurement::Loss::MessagesUnnumbered);
}

/// The number of a message that the call has sent, or has received by posting a receive of its own.
MessageNumber number_message(MpiCall& call, const ChannelUse& use) {
  if (!can_be_numbered(use.communicator)) return {};
  bool is_full = false;
  const MessageNumber number = channels.count(use, is_full);
  count_if(call, is_full);
  return number;
}

/// The same of a request that the call has begun. A receive gets its number in its record when it completes.
MessageNumber number_begun(MpiCall& call, TrackedRequest& request) {
  if (!channels.is_there() || !events::is_message(request.kind)) return {};
  set_communicator(request, communicator_of(request));
  if (is_receive(request)) keep_number(request, {});
  const ChannelUse use = use_of(request, call.here().thread);
  if (request.partitioned || !can_be_numbered(use.communicator)) return {};
  if (!use.is_receive) return number_message(call, use);
  bool is_full = false;
  keep_number(request, channels.post(use, is_full));
  count_if(call, is_full);
  return {};
}

MessageNumber number_collective(std::int32_t communicator) {
  if (!can_be_numbered(communicator) || !has_place(communicator)) return {};
  return next_number(operations[communicator]);
}

/// Of a receive.
MessageNumber number_completed(MpiCall& call, TrackedRequest& request, const MPI_Status& status, bool cancelled) {
  if (!channels.is_there() || !is_message(request)) return {};
  if (!is_receive(request) && !request.doubted && !cancelled) return {};
  const ChannelUse posted = use_of(request, call.here().thread);
  const MessageNumber kept = is_receive(request) ? kept_number(request) : MessageNumber{};
  if (request.doubted || cancelled) {
    if (!request.doubted) channels.doubt(posted);
    channels.end_doubt(kept, posted, cancelled);
    request.doubted = false;
  }
  if (cancelled || !is_receive(request)) return {};
  const ChannelUse told = told_use(request, status, posted.thread);
  if (is_wild(told)) return channels.give_up(kept, posted), MessageNumber{};
  const MessageNumber number = channels.complete(kept, told);
  return can_be_numbered(told.communicator) ? number : MessageNumber{};
}

/// Matched messages, from the probe to the receive: few at a time.
struct MatchedMessage {
  std::int32_t communicator;
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
  if (channels.is_there())
    for (Matched& place : matched_messages) {
      std::uint64_t key = key_of(message);
      if (!place.key.compare_exchange_strong(key, in_change)) continue;
      const MatchedMessage found = place.message;
      place.key.store(0);
      return found;
    }
  return {events::unknown_communicator, {}};
}

// ---- Records ----

void tell(MpiCall& call, Record& record, const MessageNumber& number = {}) {
  if (!call.is_recorded()) return;
  if (events::has_number(record.kind, record.phase)) keep(call.location(), record, number);
  else keep(call.location(), record);
}

Record record_of(Kind kind, std::int32_t peer, std::int32_t tag, std::int32_t communicator) {
  Record r;
  r.kind = kind;
  r.peer = peer;
  r.tag = tag;
  r.communicator = communicator;
  return r;
}
Record record_of(Kind kind, const ChannelUse& use) { return record_of(kind, use.peer, use.tag, use.communicator); }

std::int32_t rank_of_root(int root) {
  return root == MPI_ROOT ? events::this_side : root == MPI_PROC_NULL ? events::no_peer : root;
}

/// What is known of the request alone.
Record record_of(const TrackedRequest& request, Phase phase) {
  const bool is_message = events::is_message(request.kind), is_one_sided = request.kind == Kind::OneSided;
  const std::int32_t peer = is_message                         ? rank_or_any(request.peer)
                            : is_one_sided                     ? request.peer
                            : request.kind == Kind::Collective ? rank_of_root(request.peer)
                                                               : events::no_peer;
  const std::int32_t communicator =
      is_one_sided ? id_of_window(handle_of<MPI_Win>(request.communicator)) : communicator_of(request);
  Record r = record_of(request.kind, peer, is_message ? tag_or_any(request.tag) : events::any_tag, communicator);
  r.phase = phase;
  r.request = request.number;
  r.begun_thread = request.begun.thread;
  r.begun_node = static_cast<std::uint32_t>(request.begun.node);
  if (request.kind == Kind::Receive) return r;
  r.bytes_sent = request.bytes_sent;
  r.bytes_received = request.bytes_received;
  return r;
}

void tell_message_received(MpiCall& call, const ChannelUse& use, std::int64_t bytes, const MessageNumber& number) {
  Record r = record_of(Kind::Receive, use);
  r.bytes_received = bytes;
  tell(call, r, number);
}

}  // namespace

void start_numbering() {
  if (!measurement::events_are_kept()) return;
  int level = MPI_THREAD_MULTIPLE;
  pmpi.Query_thread(&level);
  if (channels.create(level == MPI_THREAD_MULTIPLE)) constants.channels_are_claimed = channels.is_threaded();
}

void merge_communicator(std::int32_t id) {
  if (!has_place(id)) return;
  merged[id / 64].fetch_or(std::uint64_t{1} << id % 64);
  any_merged.store(true);
}

REFRAIN_HOT_CODE_OF_MANY void tell_sent(MpiCall call, const Partner& to, std::int64_t bytes) {
  if (to.peer == MPI_PROC_NULL) return;
  const ChannelUse use = use_of(to, false, call.here().thread);
  const MessageNumber number = number_message(call, use);
  Record r = record_of(Kind::Send, use);
  r.bytes_sent = bytes;
  tell(call, r, number);
}

REFRAIN_HOT_CODE_OF_MANY void tell_received(MpiCall call, const MPI_Status& status, MPI_Comm comm, std::int64_t bytes) {
  if (status.MPI_SOURCE == MPI_PROC_NULL) return;
  const ChannelUse use = use_of({status.MPI_SOURCE, status.MPI_TAG, comm}, true, call.here().thread);
  tell_message_received(call, use, bytes, number_message(call, use));
}

void tell_probed(MpiCall call, MPI_Comm comm, MPI_Message message, const MPI_Status& status) {
  if (!channels.is_there() || message == constants.no_message) return;
  const ChannelUse use = use_of({status.MPI_SOURCE, status.MPI_TAG, comm}, true, call.here().thread);
  const MatchedMessage found{use.communicator, number_message(call, use)};
  for (Matched& place : matched_messages) {
    std::uint64_t free = 0;
    if (!place.key.compare_exchange_strong(free, in_change)) continue;
    place.message = found;
    place.key.store(key_of(message));
    return;
  }
}

void tell_matched(MpiCall call, const MPI_Status& status, MPI_Message message, std::int64_t bytes) {
  const MatchedMessage matched = take_matched(message);
  if (status.MPI_SOURCE == MPI_PROC_NULL) return;
  tell_message_received(call, {matched.communicator, status.MPI_SOURCE, status.MPI_TAG, true, 0}, bytes,
                        matched.number);
}

void tell_failed(MpiCall call, const Partner& partner, bool is_receive) {
  if (!channels.is_there() || partner.peer == MPI_PROC_NULL) return;
  channels.break_channel(use_of(partner, is_receive, call.here().thread));
}

REFRAIN_HOT_CODE_OF_MANY void tell_collective(MpiCall call, MPI_Comm comm, int root, const Traffic& traffic) {
  const std::int32_t communicator = id_of_communicator(comm);
  const MessageNumber number = number_collective(communicator);
  if (!call.is_recorded()) return;
  if (const std::uint64_t identity = identity_if_of_all(communicator))
    keep_synchronization_of_all(call.location(), identity);
  Record r = record_of(Kind::Collective, rank_of_root(root), events::any_tag, communicator);
  r.bytes_sent = traffic.sent;
  r.bytes_received = traffic.received;
  tell(call, r, number);
}

void fail_collective(MPI_Comm comm) {
  const std::int32_t communicator = id_of_communicator(comm);
  if (has_place(communicator)) operations[communicator].store(has_failed, std::memory_order_relaxed);
}

void tell_one_sided(MpiCall call, MPI_Win win, int target, const Traffic& traffic) {
  if (target == MPI_PROC_NULL) return;
  Record r = record_of(Kind::OneSided, target, events::any_tag, id_of_window(win));
  r.bytes_sent = traffic.sent;
  r.bytes_received = traffic.received;
  tell(call, r);
}

void tell_fence(MpiCall call, MPI_Win win) {
  const std::int32_t window = id_of_window(win);
  const bool is_numbered = is_numbering() && window >= 0 && static_cast<std::size_t>(window) < max_windows;
  Record r = record_of(Kind::Synchronization, events::no_peer, events::any_tag, window);
  r.ordinal = is_numbered ? next_number(fences[window]).ordinal : events::no_ordinal;
  tell(call, r);
}

void tell_synchronized(MpiCall call, MPI_Win win, int target, bool is_exclusive) {
  Record r = record_of(Kind::Synchronization, target != MPI_PROC_NULL ? target : events::no_peer,
                       is_exclusive ? events::exclusive_lock : events::any_tag, id_of_window(win));
  r.ordinal = events::no_ordinal;
  tell(call, r);
}

void tell_access(MpiCall call, Kind kind, std::int64_t bytes) {
  Record r = record_of(kind, events::no_peer, events::any_tag, events::unknown_communicator);
  (kind == Kind::Read ? r.bytes_received : r.bytes_sent) = bytes;
  tell(call, r);
}

REFRAIN_HOT_CODE_OF_MANY void tell_begun(MpiCall call, TrackedRequest& request) {
  // Persistent operations may be started in any order.
  const bool is_in_order = request.kind == Kind::Collective && !request.persistent;
  const MessageNumber number = is_in_order ? number_collective(communicator_of(request)) : number_begun(call, request);
  Record r = record_of(request, Phase::Begun);
  tell(call, r, number);
}

void tell_begun_untracked(MpiCall call, const Partner& from) {
  const ChannelUse use = use_of(from, true, call.here().thread);
  if (!can_be_numbered(use.communicator)) return;
  if (is_wild(use)) channels.break_channel(use);
  else (void)number_message(call, use);
}

void tell_begun_matched(MpiCall call, TrackedRequest& request, MPI_Message message) {
  const MatchedMessage matched = take_matched(message);
  if (channels.is_there()) {
    set_communicator(request, matched.communicator);
    keep_number(request, matched.number);
  }
  Record r = record_of(request, Phase::Begun);
  tell(call, r);
}

void tell_statuses(MpiCall call, const TrackedRequest& request, const MPI_Status& status) {
  if (!channels.has_open() || !request.active || !is_message(request) || !is_receive(request)) return;
  const ChannelUse told = told_use(request, status, call.here().thread);
  if (!is_wild(told)) channels.resolve(kept_number(request), told);
}

REFRAIN_HOT_CODE_OF_MANY void tell_completed(MpiCall call, TrackedRequest& request, const MPI_Status& status,
                                             std::int64_t bytes, bool cancelled) {
  const MessageNumber number = number_completed(call, request, status, cancelled);
  Record r = record_of(request, cancelled ? Phase::Cancelled : Phase::Completed);
  if (!cancelled && is_receive(request) && !request.untold) {
    r.peer = rank_or_any(status.MPI_SOURCE);
    r.tag = tag_or_any(status.MPI_TAG);
  }
  if (is_counted_at_completion(request.kind)) (r.kind == Kind::Write ? r.bytes_sent : r.bytes_received) = bytes;
  tell(call, r, number);
}

void tell_given_up(MpiCall call, TrackedRequest& request) {
  if (!channels.is_there() || !request.active || !is_message(request)) return;
  const ChannelUse posted = use_of(request, call.here().thread);
  if (request.doubted) channels.break_channel(posted);
  request.doubted = false;
  if (is_receive(request)) channels.give_up(kept_number(request), posted);
}

void note_cancel(MPI_Request handle) {
  if (!channels.is_there()) return;
  TrackedRequest* request = request_table.find(handle_bits(handle));
  if (!request || !request->active || request->doubted || !is_message(*request)) return;
  request->doubted = true;
  channels.doubt(use_of(*request, 0));
}

void claim_channel(const Partner& partner, bool is_receive) {
  const measurement::Location* location = measurement::own_location();
  if (location && partner.peer != MPI_PROC_NULL) channels.claim(use_of(partner, is_receive, location->thread));
}

void claim_channel(const TrackedRequest& request) {
  const measurement::Location* location = measurement::own_location();
  if (location && is_message(request)) channels.claim(use_of(request, location->thread));
}

}  // namespace refrain::adapters::mpi
