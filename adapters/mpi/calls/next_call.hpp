#pragma once
/// The next definition that a wrapper calls: a pointer that finds its function at the first call. The generated table
/// `next` (next.hpp) has one per function, which points to a stub that calls `resolve` at first.

#include <atomic>

#include "adapters/mpi/library.hpp"

namespace refrain::adapters::mpi {

template <class Function>
class Next;

template <class Result, class... Parameters>
class Next<Result (*)(Parameters...)> {
 public:
  using Function = Result (*)(Parameters...);
  constexpr Next(Function first) : target_(first) {}  // NOLINT: the table is a list of stubs
  /// False: there is no such function, and the stub stays.
  bool resolve(const char* name) {
    void* found = next_function(name);
    if (found) target_.store(reinterpret_cast<Function>(found), std::memory_order_relaxed);
    return found;
  }
  Result operator()(Parameters... arguments) const { return target_.load(std::memory_order_relaxed)(arguments...); }

 private:
  std::atomic<Function> target_;
};

}  // namespace refrain::adapters::mpi
