#pragma once
/// Effects of one-sided operations and of calls that make, name and free windows; conventions in effects.hpp.

#include "adapters/mpi/datatypes.hpp"
#include "adapters/mpi/effects_handles.hpp"
#include "adapters/mpi/windows.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// One-sided operations are counted at the origin, by call path and by window and target. They are no messages.
/// A negative number of bytes: nothing moves in that direction.
inline void count_one_sided(measurement::MpiCall& call, MPI_Win win, int target, std::int64_t put, std::int64_t got) {
  if (target == MPI_PROC_NULL) return;
  if (put >= 0) call.sent(0, put);
  if (got >= 0) call.received(0, got);
  if (call.is_recorded() && !count_one_sided(win, target, put, got)) call.lost(measurement::Loss::WindowTableFull);
}
inline constexpr std::int64_t nothing_moved = -1;

/// To the target, or from it.
template <bool is_put>
struct MovedOneSided {
  std::int64_t count;
  MPI_Datatype datatype;
  int target;
  MPI_Win win;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    const std::int64_t bytes = bytes_of(count, datatype);
    count_one_sided(call, win, target, is_put ? bytes : nothing_moved, is_put ? nothing_moved : bytes);
  }
};
using Put = MovedOneSided<true>;
using Got = MovedOneSided<false>;

/// With MPI_NO_OP the origin buffer is not used.
struct GotAndPut {
  std::int64_t count;
  MPI_Datatype datatype;
  std::int64_t result_count;
  MPI_Datatype result_datatype;
  int target;
  MPI_Op op;
  MPI_Win win;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    const std::int64_t put = op != constants.no_op ? bytes_of(count, datatype) : nothing_moved;
    count_one_sided(call, win, target, put, bytes_of(result_count, result_datatype));
  }
};

struct Swapped {
  MPI_Datatype datatype;
  int target;
  MPI_Win win;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS) count_one_sided(call, win, target, type_size(datatype), type_size(datatype));
  }
};

struct Fetched {
  MPI_Datatype datatype;
  int target;
  MPI_Op op;
  MPI_Win win;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    const std::int64_t put = op != constants.no_op ? type_size(datatype) : nothing_moved;
    count_one_sided(call, win, target, put, type_size(datatype));
  }
};

template <measurement::WindowKind kind>
struct WindowMade {
  MPI_Comm comm;
  const MPI_Win* win;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && !define_window(comm, *win, kind)) call.lost(measurement::Loss::WindowTableFull);
  }
};
using WindowCreated = WindowMade<measurement::WindowKind::Created>;
using WindowAllocated = WindowMade<measurement::WindowKind::Allocated>;
using WindowShared = WindowMade<measurement::WindowKind::Shared>;
using WindowDynamic = WindowMade<measurement::WindowKind::Dynamic>;

using WindowFreed = HandleFreed<MPI_Win, forget_window, bind_window>;
using WindowNamed = HandleNamed<MPI_Win, name_window>;

}  // namespace refrain::adapters::mpi
