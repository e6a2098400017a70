#include "measurement/own_location.hpp"

#include "platform/hot.hpp"
#include "platform/threads.hpp"

namespace refrain::measurement {

REFRAIN_HOT_DATA FirstThread first_thread{0, nullptr};
constinit thread_local Location* location_of_thread = nullptr;

void set_own_location(Location* location) {
  const bool is_first = platform::has_thread_pointer() && platform::thread_id() == platform::process_id();
  // A tick of this thread may come in between. It finds the pointer only while the location is valid.
  if (is_first) first_thread.pointer.store(0, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  location_of_thread = location;
  if (!is_first || !location) return;
  first_thread.location = location;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  first_thread.pointer.store(platform::thread_pointer(), std::memory_order_relaxed);
}

}  // namespace refrain::measurement
