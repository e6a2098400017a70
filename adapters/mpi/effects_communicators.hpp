#pragma once
/// Effects of calls that make, name and free communicators; conventions in effects.hpp.

#include "adapters/mpi/communicators.hpp"
#include "adapters/mpi/tracking.hpp"

namespace refrain::adapters::mpi {

struct CommunicatorMade {
  MPI_Comm comm;
  const MPI_Comm* newcomm;
  void before() {}
  void after(measurement::MpiCall&, int result) {
    if (result == MPI_SUCCESS) define_child(comm, *newcomm);
  }
};

/// Its handle is known when the request completes.
struct CommunicatorPosted {
  MPI_Comm comm;
  MPI_Comm* newcomm;
  const MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    TrackedRequest* tracked = track(call, *request, RequestKind::Communicator);
    if (!tracked) return;
    tracked->communicator = define_duplicate(comm);
    tracked->communicator_handle = newcomm;
  }
};

struct CommunicatorOfGroup {
  MPI_Comm comm;
  int tag;
  const MPI_Comm* newcomm;
  void before() {}
  void after(measurement::MpiCall&, int result) {
    if (result == MPI_SUCCESS) define_of_group(comm, tag, *newcomm);
  }
};

struct IntercommunicatorMade {
  int tag;
  const MPI_Comm* newcomm;
  void before() {}
  void after(measurement::MpiCall&, int result) {
    if (result == MPI_SUCCESS) define_by_members(tag, *newcomm);
  }
};

/// One that came from outside MPI_COMM_WORLD, or of a session.
struct CommunicatorFound {
  const MPI_Comm* newcomm;
  void before() {}
  void after(measurement::MpiCall&, int result) {
    if (result == MPI_SUCCESS) define_by_members(0, *newcomm);
  }
};

struct CommunicatorFreed {
  const MPI_Comm* comm;
  MPI_Comm handle;
  explicit CommunicatorFreed(const MPI_Comm* comm) : comm(comm) {}
  void before() { handle = *comm; }
  void after(measurement::MpiCall&, int result) {
    if (result == MPI_SUCCESS) forget_handle(handle);
  }
};

struct CommunicatorNamed {
  MPI_Comm comm;
  const char* name;
  void before() {}
  void after(measurement::MpiCall&, int result) {
    if (result == MPI_SUCCESS) name_communicator(comm, name);
  }
};

}  // namespace refrain::adapters::mpi
