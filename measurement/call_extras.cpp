#include "measurement/iteration_trigger.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::measurement {

std::atomic<bool> calls_have_extras{false};

std::int64_t* enter_region_with_extras(Location& location, RegionId region, const platform::Registers& registers) {
  if (trigger_region.load(std::memory_order_relaxed) == region) call_of_trigger(location, registers);
  std::int64_t* values = enter_region(location, region, registers);
  if (location.extra) take_reading(location, false);
  return values;
}

}  // namespace refrain::measurement
