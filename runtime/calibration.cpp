#include "runtime/calibration.hpp"

#include <algorithm>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measurement/mpi_call.hpp"
#include "platform/threads.hpp"

namespace refrain::runtime {
namespace {

using measurement::Location;
using platform::Ticks;

constexpr int batches = 21;
constexpr int calls_per_batch = 100;
constexpr int depth = 8;
volatile int keep_frame;

/// Stands for an MPI wrapper around a call that does nothing.
[[gnu::noinline]] int empty_call() {
  return measured(
      measurement::RegionId{0}, [] { return 0; }, [](measurement::MpiCall& call, int) { call.sent(1, 8); });
}

[[gnu::noinline]] void call_batch() {
  for (int i = 0; i < calls_per_batch; ++i) {
    empty_call();
    keep_frame = i;
  }
}

[[gnu::noinline]] void descend(int frames) {
  if (frames == 0) {
    call_batch();
  } else {
    descend(frames - 1);
  }
  keep_frame = frames;  // not a tail call
}

archive::CalibratedCost summary(double* costs) {
  std::sort(costs, costs + batches);
  return {costs[batches / 2], costs[batches / 20], costs[batches - 1 - batches / 20]};
}

archive::CalibratedCost calibrate_call(Location& location) {
  double costs[batches];
  descend(depth);  // first walk, rules, nodes
  for (double& cost : costs) {
    const Ticks mpi_before = location.unit.mpi;
    const Ticks begin = platform::now();
    descend(depth);
    const Ticks all = platform::now() - begin;
    cost = static_cast<double>(all - (location.unit.mpi - mpi_before)) / calls_per_batch;
  }
  return summary(costs);
}

archive::CalibratedCost calibrate_tick(int signal) {
  double costs[batches];
  const int process = platform::process_id();
  const int thread = platform::thread_id();
  for (int i = 0; i < 3; ++i) syscall(SYS_tgkill, process, thread, signal);
  for (double& cost : costs) {
    const Ticks begin = platform::now();
    syscall(SYS_tgkill, process, thread, signal);
    cost = static_cast<double>(platform::now() - begin);
  }
  return summary(costs);
}

}  // namespace

Calibration calibrate(const measurement::LocationSettings& settings, int signal) {
  Calibration result{};
  Location* location = measurement::make_detached_location(settings);
  if (!location) return result;
  (void)measurement::enter_location(*location);
  result.call = calibrate_call(*location);
  if (signal) {
    location->sampling = true;
    result.tick = calibrate_tick(signal);
    location->sampling = false;
  }
  measurement::current_location = nullptr;
  measurement::free_detached_location(location);
  return result;
}

}  // namespace refrain::runtime
