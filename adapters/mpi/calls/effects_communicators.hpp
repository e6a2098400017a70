#pragma once
/// Effects of calls that make, name and free communicators; conventions in effects.hpp.

#include "adapters/mpi/calls/effects_handles.hpp"
#include "adapters/mpi/identities/communications.hpp"
#include "adapters/mpi/sessions.hpp"

namespace refrain::adapters::mpi {

/// Counts a loss unless there is a record of the communicator that was made.
inline void count_unless(bool defined, measurement::MpiCall& call) {
  if (!defined) call.lost(measurement::Loss::CommunicatorTableFull);
}

struct CommunicatorMade {
  MPI_Comm comm;
  const MPI_Comm* newcomm;
  void after(measurement::MpiCall& call, int result) {
    // Only some members may see an error, so all members count the operation.
    count_unless(define_child(comm, result == MPI_SUCCESS ? *newcomm : constants.no_communicator), call);
  }
};

struct CommunicatorDuplicated {
  MPI_Comm comm;
  const MPI_Comm* newcomm;
  void after(measurement::MpiCall& call, int result) {
    const MPI_Comm made = result == MPI_SUCCESS ? *newcomm : constants.no_communicator;
    count_unless(define_duplicate(comm, made, true), call);
  }
};

/// The handle exists already, though it must not be used before the request completes. It is read now, because the
/// caller's variable may be gone by then: Open MPI's Fortran function has one of its own.
struct CommunicatorPosted {
  MPI_Comm comm;
  const MPI_Comm* newcomm;
  const MPI_Request* request;
  void after(measurement::MpiCall& call, int result) {
    TrackedRequest* tracked = result == MPI_SUCCESS ? track(call, *request, events::Kind::Communicator) : nullptr;
    if (tracked) tracked->communicator = id_of_communicator(comm);
    request_begun(call, tracked);
    count_unless(define_duplicate(comm, result == MPI_SUCCESS ? *newcomm : constants.no_communicator, false), call);
  }
};

struct CommunicatorOfGroup {
  MPI_Comm comm;
  int tag;
  const MPI_Comm* newcomm;
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS) count_unless(define_of_group(comm, tag, *newcomm), call);
  }
};

/// An integer tag stays as it is; a stringtag becomes a hash.
inline int tag_of(int tag) { return tag; }
inline int tag_of(const char* text) {
  std::uint64_t hash = 1;
  for (; text && *text; ++text) hash = spread(hash ^ static_cast<unsigned char>(*text)) >> 7;
  return static_cast<int>(hash % 64);
}

template <class Tag>
struct IntercommunicatorOf {
  Tag tag;
  const MPI_Comm* newcomm;
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS) count_unless(define_by_members(tag_of(tag), *newcomm), call);
  }
};
using IntercommunicatorMade = IntercommunicatorOf<int>;
using IntercommunicatorOfSession = IntercommunicatorOf<const char*>;

/// An intercommunicator with processes from outside MPI_COMM_WORLD.
struct CommunicatorFound {
  const MPI_Comm* newcomm;
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS) count_unless(define_by_members(0, *newcomm), call);
  }
};

struct ParentFound {
  const MPI_Comm* newcomm;
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS) count_unless(define_once(*newcomm), call);
  }
};

/// A communicator made from a session. The measurement begins with the first one of all processes (sessions.hpp).
struct CommunicatorOfSession {
  const char* stringtag;
  const MPI_Comm* newcomm;
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && !begin_with_session(*newcomm))
      count_unless(define_by_members(tag_of(stringtag), *newcomm), call);
  }
};

using CommunicatorFreed = HandleFreed<MPI_Comm, forget_handle, bind_communicator>;
using CommunicatorNamed = HandleNamed<MPI_Comm, name_communicator>;

}  // namespace refrain::adapters::mpi
