#include "adapters/mpi/identities/numbering.hpp"

#include "adapters/mpi/identities/communicators.hpp"

namespace refrain::adapters::mpi {

using measurement::MpiCall;

namespace {

constinit Channels channels;

/// A request of a message has the id of its communicator when it was begun: the handle may be freed, and be another
/// communicator's, before it completes.
constexpr std::uint64_t is_id = std::uint64_t{1} << 63;

/// Ids that stand for several communicators, whose messages have no order.
constexpr std::size_t most_communicators = 65'536;
std::atomic<bool> any_merged{false};
std::atomic<std::uint64_t> merged[most_communicators / 64];

/// Collective operations that have begun, by communicator. Of one communicator no two threads begin any at a time.
std::atomic<std::uint64_t> operations[most_communicators];
constexpr std::uint64_t has_failed = std::uint64_t{1} << 63;

/// Fences that have ended, by window. Of one window no two threads are in one at a time.
constexpr std::size_t most_windows = 65'536;
std::atomic<std::uint64_t> fences[most_windows];

bool has_place(std::int32_t id) { return id >= 0 && static_cast<std::size_t>(id) < most_communicators; }

bool is_merged(std::int32_t id) {
  return any_merged.load(std::memory_order_relaxed) && has_place(id) &&
         (merged[id / 64].load(std::memory_order_relaxed) >> id % 64 & 1) != 0;
}

bool can_be_numbered(std::int32_t communicator) {
  return channels.is_there() && !measurement::messages_go_uncounted.load(std::memory_order_relaxed) &&
         !is_merged(communicator);
}

bool is_receive(const TrackedRequest& request) { return request.kind != RequestKind::Send; }
bool is_message(const TrackedRequest& request) {
  return (request.kind == RequestKind::Send || is_receive_kind(request.kind)) && !request.partitioned;
}

/// As it was posted.
ChannelUse use_of(const TrackedRequest& request, std::int32_t thread) {
  return {communicator_of(request), rank_or_any(request.peer), tag_or_any(request.tag), is_receive(request), thread};
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

/// Matched messages, from the probe to the receive: few at a time.
struct Matched {
  std::atomic<std::uint64_t> key;
  MatchedMessage message;
};
constexpr unsigned most_matched = 64;
constexpr std::uint64_t in_change = 1;
constinit Matched matched_messages[most_matched]{};
std::uint64_t key_of(MPI_Message message) { return handle_bits(message) << 1 | std::uint64_t{1} << 63; }

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

MessageNumber number_message(MpiCall& call, std::int32_t communicator, std::int32_t peer, std::int32_t tag,
                             bool is_receive) {
  if (!can_be_numbered(communicator)) return {};
  bool is_full = false;
  const MessageNumber number = channels.count({communicator, peer, tag, is_receive, call.here().thread}, is_full);
  count_if(call, is_full);
  return number;
}

MessageNumber number_begun(MpiCall& call, TrackedRequest& request) {
  if (!channels.is_there() || !(request.kind == RequestKind::Send || is_receive_kind(request.kind))) return {};
  request.communicator = is_id | static_cast<std::uint32_t>(communicator_of(request));
  if (is_receive(request)) keep_number(request, {});
  const ChannelUse use = use_of(request, call.here().thread);
  if (request.partitioned || !can_be_numbered(use.communicator)) return {};
  bool is_full = false;
  const MessageNumber number = use.is_receive ? channels.post(use, is_full) : channels.count(use, is_full);
  count_if(call, is_full);
  if (use.is_receive) keep_number(request, number);
  return use.is_receive ? MessageNumber{} : number;
}

MessageNumber number_collective(std::int32_t communicator) {
  if (!can_be_numbered(communicator) || !has_place(communicator)) return {};
  std::atomic<std::uint64_t>& count = operations[communicator];
  const std::uint64_t before = count.load(std::memory_order_relaxed);
  if (before >= has_failed) return {};
  count.store(before + 1, std::memory_order_relaxed);
  return {before, 0};
}

void fail_collective(MPI_Comm comm) {
  const std::int32_t communicator = id_of_communicator(comm);
  if (has_place(communicator)) operations[communicator].store(has_failed, std::memory_order_relaxed);
}

MessageNumber number_fence(std::int32_t window) {
  if (!channels.is_there() || measurement::messages_go_uncounted.load(std::memory_order_relaxed) || window < 0 ||
      static_cast<std::size_t>(window) >= most_windows)
    return {};
  std::atomic<std::uint64_t>& count = fences[window];
  const std::uint64_t before = count.load(std::memory_order_relaxed);
  count.store(before + 1, std::memory_order_relaxed);
  return {before, 0};
}

void number_untracked(MpiCall& call, const Partner& from) {
  const std::int32_t communicator = id_of_communicator(from.comm);
  if (!can_be_numbered(communicator)) return;
  const ChannelUse use{communicator, rank_or_any(from.peer), tag_or_any(from.tag), true, call.here().thread};
  if (use.peer == events::any_peer || use.tag == events::any_tag) return channels.break_channel(use);
  bool is_full = false;
  (void)channels.count(use, is_full);
  count_if(call, is_full);
}

namespace {

/// What the status of a receive says; of one that tells nothing, what it was posted with.
ChannelUse told_use(const TrackedRequest& request, const MPI_Status& status, std::int32_t thread) {
  ChannelUse use = use_of(request, thread);
  if (request.kind == RequestKind::Receive) {
    use.peer = status.MPI_SOURCE;
    use.tag = status.MPI_TAG;
  }
  return use;
}
bool is_wild(const ChannelUse& use) { return use.peer < 0 || use.tag < 0; }

}  // namespace

void resolve_number(MpiCall& call, const TrackedRequest& request, const MPI_Status& status) {
  if (!channels.has_open() || !request.active || !is_message(request) || !is_receive(request)) return;
  const ChannelUse told = told_use(request, status, call.here().thread);
  if (!is_wild(told)) channels.resolve(kept_number(request), told);
}

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

void give_up_number(MpiCall& call, TrackedRequest& request) {
  if (!channels.is_there() || !request.active || !is_message(request)) return;
  const ChannelUse posted = use_of(request, call.here().thread);
  if (request.doubted) channels.break_channel(posted);
  request.doubted = false;
  if (is_receive(request)) channels.give_up(kept_number(request), posted);
}

void doubt_number(MPI_Request handle) {
  if (!channels.is_there()) return;
  TrackedRequest* request = request_table.find(handle_bits(handle));
  if (!request || !request->active || request->doubted || !is_message(*request)) return;
  request->doubted = true;
  channels.doubt(use_of(*request, 0));
}

void fail_number(MpiCall& call, const Partner& partner, bool is_receive) {
  if (!channels.is_there() || partner.peer == MPI_PROC_NULL) return;
  channels.break_channel({id_of_communicator(partner.comm), rank_or_any(partner.peer), tag_or_any(partner.tag),
                          is_receive, call.here().thread});
}

void number_matched(MpiCall& call, MPI_Comm comm, MPI_Message message, const MPI_Status& status) {
  if (!channels.is_there() || message == constants.no_message) return;
  const std::int32_t communicator = id_of_communicator(comm);
  const MatchedMessage found{communicator, number_message(call, communicator, status.MPI_SOURCE, status.MPI_TAG, true)};
  for (Matched& place : matched_messages) {
    std::uint64_t free = 0;
    if (!place.key.compare_exchange_strong(free, in_change)) continue;
    place.message = found;
    place.key.store(key_of(message));
    return;
  }
}

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

void keep_matched(TrackedRequest& request, const MatchedMessage& message) {
  if (!channels.is_there()) return;
  request.communicator = is_id | static_cast<std::uint32_t>(message.communicator);
  keep_number(request, message.number);
}

void claim_channel(int peer, int tag, MPI_Comm comm, bool is_receive) {
  const measurement::Location* location = measurement::own_location();
  if (!location || peer == MPI_PROC_NULL) return;
  channels.claim({id_of_communicator(comm), rank_or_any(peer), tag_or_any(tag), is_receive, location->thread});
}

void claim_channel(const TrackedRequest& request) {
  const measurement::Location* location = measurement::own_location();
  if (location && is_message(request)) channels.claim(use_of(request, location->thread));
}

std::int32_t communicator_of(const TrackedRequest& request) {
  if (request.communicator & is_id) return static_cast<std::int32_t>(static_cast<std::uint32_t>(request.communicator));
  if (request.communicator == 0) return events::unknown_communicator;
  return id_of_communicator(handle_of<MPI_Comm>(request.communicator));
}

}  // namespace refrain::adapters::mpi
