#pragma once
/// What Refrain's own bookkeeping costs on this machine: measured at start on a location of its own, which is then
/// freed.

#include "measurement/locations.hpp"
#include "record/rank_profile.hpp"

namespace refrain::runtime {

using record::Calibration;

/// About 2 ms. Zero costs when there is no memory for it; the tick is not calibrated when `signal` is 0.
Calibration calibrate(const measurement::LocationSettings& settings, int signal);

}  // namespace refrain::runtime
