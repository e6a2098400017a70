#include "platform/thread_cpu_clock.hpp"

namespace refrain::platform {
namespace {

/// Two readings of two clocks are some ten nanoseconds apart, so a rate from readings this far apart is good to 10^-5.
constexpr std::int64_t shortest_base_ns = 20'000'000;

}  // namespace

void ThreadCpuClock::attach() {
  watch_.attach();
  base_ = {now(), monotonic_ns()};
  last_ns_ = trusted_ticks_ = 0;
}

std::int64_t ThreadCpuClock::read() {
  watch_number_ = watch_.begin();  // comes first, because anything that happens from here on must end the watch
  const Ticks before = now();
  const std::int64_t ns = thread_cpu_ns();
  const Ticks after = now();
  const std::int64_t elapsed_ns = monotonic_ns() - base_.monotonic_ns;
  if (elapsed_ns > shortest_base_ns && after > base_.ticks) {
    const double rate = static_cast<double>(elapsed_ns) / static_cast<double>(after - base_.ticks);
    ns_per_tick_ = static_cast<std::int64_t>(rate * (std::int64_t{1} << fraction_bits));
    trusted_ticks_ = static_cast<Ticks>(longest_trust_ns / rate);
  }
  read_at_ = before + (after - before) / 2;
  read_ns_ = ns;
  return last_ns_ = ns > last_ns_ ? ns : last_ns_;
}

}  // namespace refrain::platform
