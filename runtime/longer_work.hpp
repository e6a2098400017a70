#pragma once
/// Charges Refrain's rare and long work, or work that may wait: writing files, setting up the measurement with the
/// other ranks. It is charged by the thread's CPU clock, because waiting is not work of ours: for the rest of its wall
/// time the thread was off the CPU. Use it on a measured thread, inside a scope.

#include "runtime/rank.hpp"

namespace refrain::runtime {

class LongerWork {
 public:
  LongerWork() : begin_(platform::now()), cpu_begin_ns_(platform::thread_cpu_ns()) {}
  /// Charges `location`, that of the calling thread, with the CPU time since construction.
  void charge(measurement::Location& location) const {
    const auto cpu_ns = static_cast<double>(platform::thread_cpu_ns() - cpu_begin_ns_);
    const double rate = platform::ticks_per_second(this_rank.first_anchor, platform::read_anchor());
    measurement::charge_longer_work(location, static_cast<platform::Ticks>(cpu_ns * rate * 1e-9),
                                    platform::now() - begin_);
  }

 private:
  platform::Ticks begin_;
  std::int64_t cpu_begin_ns_;
};

}  // namespace refrain::runtime
