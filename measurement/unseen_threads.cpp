#include "measurement/unseen_threads.hpp"

#include <atomic>

#include "measurement/locations.hpp"
#include "platform/clock.hpp"
#include "platform/threads.hpp"

namespace refrain::measurement {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

/// CPU time per thread before it becomes a location and after it was one: the kernel creates it and destroys it.
constexpr std::int64_t outside_of_location_ns = 200'000;
/// Less cannot be distinguished from other time that is not measured.
constexpr std::int64_t min_ns = 50'000'000;
constexpr std::int64_t min_part = 50;  ///< at least one in this many parts of the process's CPU time

constexpr std::size_t max_threads = 64;
std::atomic<int> threads_of_mpi[max_threads];
std::int64_t cpu_at_begin = 0;  ///< CPU time of the process without that of the first location
std::atomic<std::int64_t> cpu_at_end{0};

std::int64_t cpu_of_mpi() {
  std::int64_t sum = 0;
  for (const auto& thread : threads_of_mpi)
    if (const int id = thread.load(relaxed)) {
      const std::int64_t ns = platform::thread_cpu_ns_of(id);
      if (ns > 0) sum += ns;
    }
  return sum;
}

/// CPU time of the calling thread if it is a helper thread of Refrain (platform/helper_thread.hpp), which has no
/// location.
std::int64_t cpu_of_helper() { return own_location() ? 0 : platform::thread_cpu_ns(); }

}  // namespace

void note_thread_of_mpi() {
  const int own = platform::thread_id();
  for (auto& thread : threads_of_mpi) {
    int known = thread.load(relaxed);
    if (known != 0 && platform::thread_cpu_ns_of(known) >= 0) continue;
    if (thread.compare_exchange_strong(known, own, relaxed)) return;
  }
}

void begin_process_cpu_time() {
  const Location* first = own_location();
  const std::int64_t of_first = first ? platform::thread_cpu_ns() - first->cpu_begin_ns : 0;
  cpu_at_begin = platform::process_cpu_ns() - of_first;
}

void end_process_cpu_time() { cpu_at_end.store(platform::process_cpu_ns() - cpu_of_mpi(), relaxed); }

std::int64_t unseen_cpu_ns(std::int64_t measured_ns) {
  const std::int64_t ended = cpu_at_end.load(relaxed);
  const std::int64_t now = ended ? ended : platform::process_cpu_ns() - cpu_of_mpi() - cpu_of_helper();
  const std::int64_t used = now - cpu_at_begin;
  const std::int64_t unseen = used - measured_ns - threads_measured() * outside_of_location_ns;
  return unseen < min_ns || unseen < used / min_part ? 0 : unseen;
}

}  // namespace refrain::measurement
