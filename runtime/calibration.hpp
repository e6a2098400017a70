#pragma once
/// What Refrain's own bookkeeping costs on this machine: measured at start on a location of its own, which is then
/// freed.

#include "record/rank_profile.hpp"
#include "measurement/locations.hpp"

namespace refrain::runtime {

struct Calibration {
  record::CalibratedCost call;   ///< one MPI call beyond the call itself, call path 10 frames deep, steady state
  record::CalibratedCost tick;   ///< one interruption by a tick in user code, signal delivery and re-arming included
  double timed_call, timed_tick;  ///< the part that measurement/own_time.hpp sees; the rest hardly changes
};

/// About 2 ms. Zero costs when there is no memory for it; the tick is not calibrated when `signal` is 0.
Calibration calibrate(const measurement::LocationSettings& settings, int signal);

}  // namespace refrain::runtime
