#include "measurement/lifecycle.hpp"

namespace refrain::measurement {

LifecycleHooks lifecycle{};

}  // namespace refrain::measurement
