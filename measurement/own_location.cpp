#include "measurement/own_location.hpp"

#include <atomic>

#include "platform/hot.hpp"
#include "platform/threads.hpp"

namespace refrain::measurement {

REFRAIN_HOT_DATA FirstThread first_thread{0, nullptr};
constinit thread_local Location* location_of_thread = nullptr;

void set_own_location(Location* location) {
  const bool is_first = platform::has_thread_pointer() && platform::thread_id() == platform::process_id();
  // A tick of this thread may come in between: it finds the pointer only while the location is right.
  if (is_first) first_thread.pointer = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  location_of_thread = location;
  if (!is_first || !location) return;
  first_thread.location = location;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  first_thread.pointer = platform::thread_pointer();
}

}  // namespace refrain::measurement
