#pragma once
/// Where a call goes on after its wrapper: a pointer that finds its function at the first call. The generated table
/// `next` (next.hpp) has one per function, beginning at a stub that calls `resolve`.

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
  /// False: there is no such function; the stub stays.
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
