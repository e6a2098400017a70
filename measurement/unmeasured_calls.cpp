#include <atomic>

#include "measurement/event_log.hpp"
#include "measurement/locations.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::measurement {

std::span<const bool> mpi_regions_in_order;

namespace {
constinit thread_local bool is_counted = false;
}

void note_unmeasured_call(RegionId region) {
  const auto i = static_cast<std::size_t>(region);
  Location* first = first_location();
  if (!first || i >= mpi_regions_in_order.size() || !mpi_regions_in_order[i]) return;
  messages_go_uncounted.store(true, std::memory_order_relaxed);
  if (is_counted) return;
  is_counted = true;
  std::int64_t& count = first->losses[static_cast<std::size_t>(Loss::ThreadUnmeasured)];
  std::atomic_ref<std::int64_t>(count).fetch_add(1, std::memory_order_relaxed);  // several threads may be here
}

}  // namespace refrain::measurement
