#pragma once
/// Measures at start what Refrain's own bookkeeping costs on this machine, on a location that is made for it and then
/// freed.

#include "measurement/locations.hpp"
#include "record/rank_profile.hpp"

namespace refrain::runtime {

using record::Calibration;

/// Takes about 2 ms. The costs are zero if there is no memory for the location; the tick is not calibrated if `signal`
/// is 0.
Calibration calibrate(const measurement::LocationSettings& settings, int signal);

}  // namespace refrain::runtime
