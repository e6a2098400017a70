#pragma once
/// Memory for calls on long arrays of requests: blocks of pages that are kept for the next such call.
/// Thread safety: a Scratch belongs to one call; the store of blocks is shared.

#include <cstddef>

#include "adapters/mpi/mpi_header.hpp"

namespace refrain::adapters::mpi {

struct TrackedRequest;

class Scratch {
 public:
  /// Room for `count` requests and statuses. False: there is no memory.
  bool take(int count);
  void give_back();
  bool exists() const { return memory_; }
  TrackedRequest** requests() { return reinterpret_cast<TrackedRequest**>(memory_); }
  MPI_Status* statuses() { return reinterpret_cast<MPI_Status*>(memory_ + count_ * sizeof(TrackedRequest*)); }

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t count_ = 0;
};

}  // namespace refrain::adapters::mpi
