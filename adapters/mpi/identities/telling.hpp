#pragma once
/// What a call has sent, received, begun and completed, as records of events (measurement/listener.hpp), with the
/// sequence numbers of messages (channels.hpp), collective operations and fences.
///
/// To be called when MpiCall::is_listened_to(), with every message, collective operation and fence, also while
/// MPI_Pcontrol has stopped the measurement: each rank must count all of its own. Nothing has a record then.
///
/// Thread safety: any thread, with a location.

#include "adapters/mpi/identities/channels.hpp"
#include "adapters/mpi/requests/tracking.hpp"
#include "measurement/mpi_call.hpp"
#include "measurement/traffic.hpp"

namespace refrain::adapters::mpi {

using measurement::Traffic;

/// MPI has begun: from here on messages have numbers, if events are kept.
void start_numbering();
/// From here on the id stands for another communicator, too, whose messages have no order with those of the first.
void merge_communicator(std::int32_t id);

/// A message that was sent by the call; nothing is told of one to MPI_PROC_NULL.
void tell_sent(measurement::MpiCall call, const Partner& to, std::int64_t bytes);
/// A message that was received by the call, as its status tells.
void tell_received(measurement::MpiCall call, const MPI_Status& status, MPI_Comm comm, std::int64_t bytes);
/// The call has matched `message`, which another one will receive.
[[gnu::cold]] void tell_probed(measurement::MpiCall call, MPI_Comm comm, MPI_Message message, const MPI_Status& status);
/// The call has received such a message.
void tell_matched(measurement::MpiCall call, const MPI_Status& status, MPI_Message message, std::int64_t bytes);
/// A send or receive has failed, so that it is not known whether the message counts.
[[gnu::cold]] void tell_failed(measurement::MpiCall call, const Partner& partner, bool is_receive);

/// A collective operation of the call. `root`: as the program gave it.
inline constexpr int without_root = MPI_PROC_NULL;
void tell_collective(measurement::MpiCall call, MPI_Comm comm, int root, const Traffic& traffic);
/// One has failed. It counts on no rank for certain: from then on those of the communicator have no numbers.
[[gnu::cold]] void fail_collective(MPI_Comm comm);

/// A one-sided operation.
void tell_one_sided(measurement::MpiCall call, MPI_Win win, int target, const Traffic& traffic);
/// A window was synchronized: all of it by MPI_Win_fence, ...
void tell_fence(measurement::MpiCall call, MPI_Win win);
/// ... or by another function, which has meant one target, or MPI_PROC_NULL: no particular one.
void tell_synchronized(measurement::MpiCall call, MPI_Win win, int target, bool is_exclusive);
/// A file was read or written.
void tell_access(measurement::MpiCall call, events::Kind kind, std::int64_t bytes);

/// The call has begun the operation of `request`, which keeps what is needed when it completes.
void tell_begun(measurement::MpiCall call, TrackedRequest& request);
/// A receive that cannot be tracked.
void tell_begun_untracked(measurement::MpiCall call, const Partner& from);
/// The receive of a message that was matched before.
void tell_begun_matched(measurement::MpiCall call, TrackedRequest& request, MPI_Message message);
/// tell_begun() if events are kept, and the request could be tracked.
inline void tell_begun_if_wanted(measurement::MpiCall& call, TrackedRequest* request) {
  if (request && call.is_listened_to()) tell_begun(call, *request);
}
/// The statuses are known that tell_completed() will be called with, of several requests.
void tell_statuses(measurement::MpiCall call, const TrackedRequest& request, const MPI_Status& status);
/// The call has completed the operation of `request`. `bytes`: received, read or written.
void tell_completed(measurement::MpiCall call, TrackedRequest& request, const MPI_Status& status, std::int64_t bytes,
                    bool cancelled);
/// The request was freed, or has failed.
[[gnu::cold]] void tell_given_up(measurement::MpiCall call, TrackedRequest& request);
/// MPI_Cancel is about to be called for it.
[[gnu::cold]] void note_cancel(MPI_Request request);

/// Where several threads make calls at once and messages are numbered (Constants::channels_are_claimed): before MPI
/// sees a message.
[[gnu::cold]] void claim_channel(const Partner& partner, bool is_receive);
[[gnu::cold]] void claim_channel(const TrackedRequest& request);
inline void claim_send(const Partner& to) {
  if (constants.channels_are_claimed) [[unlikely]]
    claim_channel(to, false);
}
inline void claim_receive(const Partner& from) {
  if (constants.channels_are_claimed) [[unlikely]]
    claim_channel(from, true);
}
inline void claim_start(const TrackedRequest* request) {
  if (constants.channels_are_claimed && request) [[unlikely]]
    claim_channel(*request);
}

}  // namespace refrain::adapters::mpi
