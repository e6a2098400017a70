#pragma once
/// A lock for rare and short work in ordinary context. A signal handler of the program may interrupt that work, leave
/// it by a jump, or come back to the same lock. So a thread never waits for itself, and after some seconds another
/// thread takes the lock: a table with a gap is better than a program that hangs. Async-signal-safe.

#include <atomic>
#include <cstdint>

#include "platform/backoff.hpp"
#include "platform/threads.hpp"

namespace refrain::platform {

class OwnedLock {
 public:
  /// False: a thread holds it, perhaps this one.
  bool try_lock() {
    int owner = nobody;
    return owner_.compare_exchange_strong(owner, thread_id(), std::memory_order_acquire);
  }
  void lock() {
    if (try_lock() || is_own()) return;
    constexpr std::int64_t timeout_ns = 10'000'000'000;
    Backoff backoff(timeout_ns);
    while (backoff.wait())
      if (try_lock()) return;
    owner_.exchange(thread_id(), std::memory_order_acquire);
  }
  /// Whether the calling thread holds it.
  bool is_own() const { return owner_.load(std::memory_order_relaxed) == thread_id(); }
  /// For a forked child, whose thread has another id.
  void reset() { owner_.store(nobody, std::memory_order_relaxed); }
  /// Does nothing if another thread has taken it.
  void unlock() {
    int owner = thread_id();
    owner_.compare_exchange_strong(owner, nobody, std::memory_order_release);
  }

 private:
  static constexpr int nobody = 0;
  std::atomic<int> owner_{nobody};
};

/// Holds a lock for its lifetime.
class Locked {
 public:
  explicit Locked(OwnedLock& lock) : lock_(lock) { lock_.lock(); }
  ~Locked() { lock_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  OwnedLock& lock_;
};

}  // namespace refrain::platform
