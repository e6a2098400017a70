#include "measurement/lifecycle.hpp"

#include <limits>

#include "measurement/mpi_call.hpp"
#include "platform/hot.hpp"

namespace refrain::measurement {

REFRAIN_HOT_DATA std::atomic<platform::Ticks> snapshot_due{std::numeric_limits<platform::Ticks>::max()};

void take_due_snapshot(Location& location) {
  if (lifecycle.snapshot_is_due) lifecycle.snapshot_is_due(location);
  leave_out_own_work(location);
}

LifecycleHooks lifecycle{};
void (*say)(const char* line) = nullptr;
std::span<const char* const> mpi_region_names;

}  // namespace refrain::measurement
