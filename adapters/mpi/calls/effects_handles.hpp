#pragma once
/// Effects of calls that free and name objects that Refrain knows by their handle; conventions in effects.hpp.

#include <cstdint>

#include "adapters/mpi/library.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// `forget` takes a handle and returns the id of its object; `bind` restores both if the object was not freed.
template <class Handle, std::int32_t (*forget)(Handle), void (*bind)(std::int32_t, Handle)>
struct HandleFreed {
  const Handle* freed;
  Handle handle{};
  std::int32_t id = -1;
  /// Comes before the call, because another thread may get the same handle for another object before it returns.
  void before() { id = forget(handle = *freed); }
  void after(measurement::MpiCall&, int result) {
    if (result != MPI_SUCCESS) bind(id, handle);
  }
};

template <class Handle, void (*set)(Handle, const char*)>
struct HandleNamed {
  Handle handle;
  const char* name;
  void after(measurement::MpiCall&, int result) {
    if (result == MPI_SUCCESS) set(handle, name);
  }
};

}  // namespace refrain::adapters::mpi
