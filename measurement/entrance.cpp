#include "measurement/entrance.hpp"

#include <sched.h>

namespace refrain::measurement {

bool wait_at_gate(Location& l, Inside from) {
  for (;;) {
    const Gate gate = l.gate.load(std::memory_order_acquire);
    if (gate == Gate::Open) return true;
    if (gate == Gate::Shut) {
      leave(l, Inside::Closed);
      return false;
    }
    leave(l, from);
    for (Gate now = gate; now == Gate::Paused || now == Gate::Held; now = l.gate.load(std::memory_order_relaxed))
      sched_yield();
    step_in(l);
  }
}

}  // namespace refrain::measurement
