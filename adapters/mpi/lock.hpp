#pragma once
/// A lock for rare and short work: opening the library, growing a table, defining a communicator, counting a one-sided
/// operation. Never on the path of other calls, never in a handler.

#include <atomic>
#include <sched.h>

namespace refrain::adapters::mpi {

class Lock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

class Locked {
 public:
  explicit Locked(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~Locked() { lock_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Lock& lock_;
};

}  // namespace refrain::adapters::mpi
