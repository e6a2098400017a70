#pragma once
/// What Refrain's own bookkeeping costs on this machine: measured at start on a location of its own, which is then
/// freed.

#include "measurement/locations.hpp"
#include "record/run.hpp"

namespace refrain::runtime {

/// About 2 ms. Zero costs when there is no memory for it; the tick is not calibrated when `signal` is 0.
record::Calibration calibrate(const measurement::LocationSettings& settings, int signal);

}  // namespace refrain::runtime
