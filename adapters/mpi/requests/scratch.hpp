#pragma once
/// Memory for calls on long arrays of requests: blocks of pages, which are kept for the next such call.
/// Thread safety: a Scratch belongs to one call; the pool of blocks is shared.

#include <cstddef>

#include "adapters/mpi/mpi_header.hpp"
#include "platform/pages.hpp"

namespace refrain::adapters::mpi {

struct TrackedRequest;

class Scratch {
 public:
  Scratch() = default;
  ~Scratch() {
    if (exists()) give_back();
  }
  /// Room for `count` requests and statuses. False: no memory.
  bool take(int count);
  bool exists() const { return memory_.data() != nullptr; }
  TrackedRequest** requests() { return reinterpret_cast<TrackedRequest**>(memory_.data()); }
  MPI_Status* statuses() { return reinterpret_cast<MPI_Status*>(memory_.data() + count_ * sizeof(TrackedRequest*)); }

 private:
  void give_back();

  platform::Bytes memory_;
  std::size_t count_ = 0;
};

}  // namespace refrain::adapters::mpi
