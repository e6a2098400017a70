#include "measurement/lifecycle.hpp"

#include "measurement/mpi_call.hpp"
#include "platform/floating_point.hpp"

namespace refrain::measurement {

void take_due_snapshot(Location& location) {
  const platform::OwnFloatingPoint own_environment;
  lifecycle.snapshot_is_due(location);
  leave_out_own_work(location);
}

LifecycleHooks lifecycle{};
std::span<const char* const> mpi_region_names;
std::span<const bool> mpi_regions_waited_in;

}  // namespace refrain::measurement
