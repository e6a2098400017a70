#pragma once
/// The location of the calling thread. Every call looks it up first.

#include <atomic>
#include <cstdint>

#include "platform/hot.hpp"
#include "platform/thread_pointer.hpp"

namespace refrain::measurement {

struct Location;

/// The location of the process's first thread, which makes most calls. With cold caches a thread-local variable costs
/// two dependent TLB misses, one for its offset and one for the variable; this structure is in a page that a call needs
/// anyway. Only the first thread writes to it.
struct FirstThread {
  std::atomic<std::uintptr_t> pointer;  ///< platform::thread_pointer(); 0: `location` is not to be used
  Location* location;
};
REFRAIN_OF_THIS_LIBRARY extern FirstThread first_thread;
extern constinit thread_local Location* location_of_thread __attribute__((tls_model("initial-exec")));

/// Null: the thread is not measured. Async-signal-safe.
[[gnu::always_inline]] inline Location* own_location() {
  const std::uintptr_t first = first_thread.pointer.load(std::memory_order_relaxed);
  if (first) [[likely]]
    if (first == platform::thread_pointer()) [[likely]]
      return first_thread.location;
  return location_of_thread;
}
/// Async-signal-safe.
void set_own_location(Location* location);

}  // namespace refrain::measurement
