#pragma once
/// What a call has sent, received, begun and completed, as records of events (measurement/event_log.hpp).
/// To be called when MpiCall::is_wanted(), what is about messages, collective operations and fences when
/// MpiCall::is_listened_to(): they are numbered all the time.

#include "adapters/mpi/calls/traffic.hpp"
#include "adapters/mpi/identities/numbering.hpp"
#include "adapters/mpi/requests/tracking.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// A message that was sent by the call; nothing is told of one to MPI_PROC_NULL.
void tell_sent(measurement::MpiCall call, Partner to, std::int64_t bytes);
/// A message that was received by the call, as its status tells.
void tell_received(measurement::MpiCall call, const MPI_Status& status, MPI_Comm comm, std::int64_t bytes);
/// The same of a message that was matched before.
void tell_matched(measurement::MpiCall call, const MPI_Status& status, MPI_Message message, std::int64_t bytes);
/// A collective operation of the call. `root`: as the program gave it.
void tell_collective(measurement::MpiCall call, MPI_Comm comm, int root, const Traffic& traffic);
/// A one-sided operation. A negative number of bytes: nothing moves in that direction.
void tell_one_sided(measurement::MpiCall call, MPI_Win win, int target, std::int64_t put, std::int64_t got);
/// A window was synchronized: all of it by MPI_Win_fence, ...
void tell_fence(measurement::MpiCall call, MPI_Win win);
/// ... or by another function, which has meant one target, or MPI_PROC_NULL: no particular one.
void tell_synchronized(measurement::MpiCall call, MPI_Win win, int target, bool is_exclusive);
/// A file was read or written.
void tell_access(measurement::MpiCall call, measurement::MetricId metric, std::int64_t bytes);

/// The call has begun what `request` is about.
void tell_begun(measurement::MpiCall call, TrackedRequest& request);
/// The same of the receive of a message that was matched before.
void tell_begun_matched(measurement::MpiCall call, TrackedRequest& request, MPI_Message message);
/// The same if events are kept, and the request could be tracked.
inline void tell_begun_if_wanted(measurement::MpiCall& call, TrackedRequest* request) {
  if (request && call.is_listened_to()) tell_begun(call, *request);
}
/// The call has completed what `request` is about. `bytes`: received, read or written.
void tell_completed(measurement::MpiCall call, TrackedRequest& request, const MPI_Status& status, std::int64_t bytes,
                    bool cancelled);

}  // namespace refrain::adapters::mpi
