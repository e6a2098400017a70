#pragma once
/// The numbers of the program's messages (channels.hpp) and collective operations, while events are kept.
/// To be called with every one of them, also while MPI_Pcontrol has stopped the measurement: each rank must count all
/// of its own.
///
/// Thread safety: any thread, with a location.

#include "adapters/mpi/identities/channels.hpp"
#include "adapters/mpi/library.hpp"
#include "adapters/mpi/requests/request_table.hpp"
#include "adapters/mpi/requests/tracking.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// MPI has begun.
void start_numbering();

/// From here on the id stands for another communicator, too.
void merge_communicator(std::int32_t id);

/// A message that the call has sent, or has received by posting a receive of its own.
MessageNumber number_message(measurement::MpiCall& call, std::int32_t communicator, std::int32_t peer, std::int32_t tag,
                             bool is_receive);
/// The call has begun a send or receive: the request keeps what is needed when it completes. Returns the number of a
/// send.
MessageNumber number_begun(measurement::MpiCall& call, TrackedRequest& request);
/// The same when the request cannot be followed.
void number_untracked(measurement::MpiCall& call, const Partner& from);
/// Statuses are known that complete_number() will be called with.
void resolve_number(measurement::MpiCall& call, const TrackedRequest& request, const MPI_Status& status);
/// The number of a receive.
MessageNumber number_completed(measurement::MpiCall& call, TrackedRequest& request, const MPI_Status& status,
                               bool cancelled);
/// It was freed, or has failed.
[[gnu::cold]] void give_up_number(measurement::MpiCall& call, TrackedRequest& request);
/// MPI_Cancel is about to be called for it.
[[gnu::cold]] void doubt_number(MPI_Request request);
/// A send or receive has failed, so that nobody knows what has become of the message.
[[gnu::cold]] void fail_number(measurement::MpiCall& call, const Partner& partner, bool is_receive);

/// The call has begun a collective operation on the communicator: how many came before. An operation that fails counts
/// on no rank for certain: from then on those of the communicator have no numbers.
MessageNumber number_collective(std::int32_t communicator);
[[gnu::cold]] void fail_collective(MPI_Comm comm);

/// The process has called MPI_Win_fence for the window: how often it had before.
MessageNumber number_fence(std::int32_t window);

/// The call has matched `message`, which another one will receive.
[[gnu::cold]] void number_matched(measurement::MpiCall& call, MPI_Comm comm, MPI_Message message,
                                  const MPI_Status& status);
/// The communicator and number of a matched message; unknown_communicator, when it is not known.
struct MatchedMessage {
  std::int32_t communicator;
  MessageNumber number;
};
MatchedMessage take_matched(MPI_Message message);
/// The request receives it.
void keep_matched(TrackedRequest& request, const MatchedMessage& message);

/// Where several threads make calls at once and messages are numbered (Constants::channels_are_claimed).
[[gnu::cold]] void claim_channel(int peer, int tag, MPI_Comm comm, bool is_receive);
[[gnu::cold]] void claim_channel(const TrackedRequest& request);
/// Before MPI sees a message.
inline void claim_send(int peer, int tag, MPI_Comm comm) {
  if (constants.channels_are_claimed) [[unlikely]]
    claim_channel(peer, tag, comm, false);
}
inline void claim_receive(int peer, int tag, MPI_Comm comm) {
  if (constants.channels_are_claimed) [[unlikely]]
    claim_channel(peer, tag, comm, true);
}
inline void claim_start(const TrackedRequest* request) {
  if (constants.channels_are_claimed && request) [[unlikely]]
    claim_channel(*request);
}

/// The communicator of a request of a message or collective operation, as its id.
std::int32_t communicator_of(const TrackedRequest& request);

}  // namespace refrain::adapters::mpi
