#include "adapters/mpi/peers.hpp"

#include <algorithm>
#include <new>

#include "platform/backoff.hpp"

namespace refrain::adapters::mpi {

using platform::Backoff;

namespace {

/// Larger messages are sent in parts of this size. A shorter part, which may be empty, is the last one.
constexpr std::size_t part_bytes = std::size_t{1} << 30;
constexpr int tag = 1;
/// How long ranks may keep this one waiting in MPI_Init, which all ranks leave at about the same time.
constexpr std::int64_t late_after_ns = 20'000'000'000;

MPI_Comm communicator;
bool is_open = false;
bool broken = false;

bool finish(MPI_Request request, std::int64_t deadline) {
  auto backoff = Backoff::until(deadline);
  for (;;) {
    int done = 0;
    if (pmpi.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done) return true;
    if (backoff.wait()) continue;
    pmpi.Cancel(&request);
    pmpi.Request_free(&request);
    return false;
  }
}

bool send_part(int peer, const std::byte* data, std::size_t bytes, std::int64_t deadline) {
  MPI_Request request;
  return pmpi.Isend(data, static_cast<int>(bytes), constants.byte, peer, tag, communicator, &request) == MPI_SUCCESS &&
         finish(request, deadline);
}

/// MPI may still access a transfer that was given up, in MPI_Finalize at the latest, so its pages must stay mapped.
bool give_up(platform::Bytes& data) {
  new (&data) platform::Bytes;  // the old one is not destroyed, so its pages stay
  return !(broken = true);
}

bool send(void*, int peer, platform::Bytes& data, std::int64_t deadline) {
  const std::byte* next = data.data();
  std::size_t bytes = data.size();
  for (;;) {
    const std::size_t part = std::min(bytes, part_bytes);
    if (!send_part(peer, next, part, deadline)) return give_up(data);
    next += part;
    bytes -= part;
    if (part < part_bytes) return true;
  }
}

/// Appends one part to `out`. Returns its size, or -1.
std::int64_t receive_part(int peer, platform::Bytes& out, std::int64_t deadline) {
  auto backoff = Backoff::until(deadline);
  MPI_Message message;
  MPI_Status status;
  for (int found = 0;;) {
    if (pmpi.Improbe(peer, tag, communicator, &found, &message, &status) != MPI_SUCCESS) return -1;
    if (found) break;
    if (!backoff.wait()) return -1;
  }
  MPI_Count bytes = 0;
  if (pmpi.Get_elements_x(&status, constants.byte, &bytes) != MPI_SUCCESS || bytes < 0) return -1;
  const std::size_t before = out.size();
  MPI_Request request;
  if (!out.resize(before + static_cast<std::size_t>(bytes)) ||
      pmpi.Imrecv(out.data() + before, static_cast<int>(bytes), constants.byte, &message, &request) != MPI_SUCCESS ||
      !finish(request, deadline))
    return -1;
  return bytes;
}

bool receive(void*, int peer, platform::Bytes& out, std::int64_t deadline) {
  for (;;) {
    const std::int64_t bytes = receive_part(peer, out, deadline);
    if (bytes < 0) return give_up(out);
    if (static_cast<std::size_t>(bytes) < part_bytes) return true;
  }
}

}  // namespace

bool open_peers(MPI_Comm world, void (*on_late)(int rank)) {
  // One process needs no communicator; and with sessions MPICH 4.0 has not yet started what a request needs.
  int size = 0;
  if (pmpi.Comm_size(world, &size) != MPI_SUCCESS || size == 1) return false;
  MPI_Request request;
  if (pmpi.Comm_idup(world, &communicator, &request) != MPI_SUCCESS) return false;
  Backoff backoff(late_after_ns);
  for (int done = 0;;) {
    if (pmpi.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done) break;
    if (backoff.wait() || !on_late) continue;
    int rank = 0;
    pmpi.Comm_rank(world, &rank);
    on_late(rank);
    on_late = nullptr;
  }
  pmpi.Comm_set_errhandler(communicator, constants.errors_return);
  return is_open = true;
}

void close_peers() {
  if (is_open && !broken) pmpi.Comm_free(&communicator);
  is_open = false;
}

measurement::Peers peers() {
  measurement::Peers result;
  if (!is_open) return result;
  pmpi.Comm_rank(communicator, &result.rank);
  pmpi.Comm_size(communicator, &result.size);
  result.send = send;
  result.receive = receive;
  return result;
}

}  // namespace refrain::adapters::mpi
