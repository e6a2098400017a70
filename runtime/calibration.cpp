#include "runtime/calibration.hpp"

#include <algorithm>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measurement/mpi_call.hpp"
#include "platform/threads.hpp"
#include "sampling/thread_sampler.hpp"

namespace refrain::runtime {
namespace {

using measurement::Location;
using measurement::OwnTime;
using measurement::OwnTimes;
using platform::Ticks;

constexpr int batches = 21;
constexpr int calls_per_batch = 100;
constexpr int depth = 8;
volatile int keep_frame;

/// Stands in for an MPI wrapper around a call that does nothing.
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
  keep_frame = frames;  // keeps the recursion from becoming a tail call
}

record::CalibratedCost summary(double* costs) {
  std::sort(costs, costs + batches);
  return {costs[batches / 2], costs[batches / 20], costs[batches - 1 - batches / 20]};
}

record::CalibratedCost calibrate_call(Location& location) {
  double costs[batches];
  descend(depth);  // makes the first walk, its rules and the nodes
  for (double& cost : costs) {
    const Ticks mpi_before = location.unit.mpi;
    const Ticks begin = platform::now();
    descend(depth);
    const Ticks all = platform::now() - begin;
    cost = static_cast<double>(all - (location.unit.mpi - mpi_before)) / calls_per_batch;
  }
  return summary(costs);
}

/// Mean over the timed events of the kind `of` since `before` (own_time.hpp), in ticks. Negative: none was timed.
double timed_since(const Location& location, OwnTime of, const OwnTimes& before) {
  const OwnTimes& now = location.own_times[static_cast<std::size_t>(of)];
  if (now.each == before.each) return -1;
  return static_cast<double>(now.each_sum - before.each_sum) / static_cast<double>(now.each - before.each);
}

/// Median over the batches in which something was timed. Without any it is the cost itself, so that no part of the cost
/// counts as untimed.
double median_timed(double* seen, const record::CalibratedCost& cost) {
  double* first = std::partition(seen, seen + batches, [](double s) { return s < 0; });
  if (first == seen + batches) return cost.median;
  double* middle = first + (seen + batches - first) / 2;
  std::nth_element(first, middle, seen + batches);
  return *middle;
}

/// Repeats the calls with every one of them timed.
double calibrate_timed_call(Location& location, const record::CalibratedCost& cost) {
  double seen[batches];
  location.call_timing.each_left = (batches + 1) * calls_per_batch;
  descend(depth);
  for (double& s : seen) {
    const OwnTimes before = location.own_times[static_cast<std::size_t>(OwnTime::Call)];
    descend(depth);
    s = timed_since(location, OwnTime::Call, before);
  }
  return median_timed(seen, cost);
}

void calibrate_tick(Location& location, int signal, Calibration& result) {
  double costs[batches], seen[batches];
  const int process = platform::process_id();
  const int thread = platform::thread_id();
  for (int i = 0; i < 3; ++i) syscall(SYS_tgkill, process, thread, signal);
  for (int i = 0; i < batches; ++i) {
    const OwnTimes before = location.own_times[static_cast<std::size_t>(OwnTime::Tick)];
    const Ticks begin = platform::now();
    syscall(SYS_tgkill, process, thread, signal);
    costs[i] = static_cast<double>(platform::now() - begin);
    seen[i] = timed_since(location, OwnTime::Tick, before);
  }
  result.tick = summary(costs);
  result.timed_tick = median_timed(seen, result.tick);
}

}  // namespace

Calibration calibrate(const measurement::LocationSettings& settings, int signal) {
  Calibration result{};
  Location* location = measurement::make_detached_location(settings);
  if (!location) return result;
  (void)measurement::enter_location(*location);
  result.call = calibrate_call(*location);
  result.timed_call = calibrate_timed_call(*location, result.call);
  if (auto* sampler = signal ? sampling::make_sampler(*location) : nullptr) {
    sampler->active = sampler->takes_any_signal = true;
    calibrate_tick(*location, signal, result);
    sampling::free_sampler(*location);
  }
  measurement::set_own_location(nullptr);
  measurement::free_detached_location(location);
  return result;
}

}  // namespace refrain::runtime
