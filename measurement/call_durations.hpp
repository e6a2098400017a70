#pragma once
/// Durations of the calls in which processes can wait for each other, per location, by call path and bin of the call
/// (waits/durations.hpp). A duration is noted at the end of its call. Memory is bounded for the process.

#include <optional>

#include "measurement/location.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/hot.hpp"

namespace refrain::measurement {

/// Bytes for all locations together.
inline constexpr std::size_t max_durations_memory = std::size_t{1} << 20;

/// Whether durations are noted. Constant after the first location was made.
REFRAIN_OF_THIS_LIBRARY extern std::atomic<bool> durations_are_noted;

/// Durations are noted from here on. To be called before the first location is made.
void start_durations();
/// Frees the durations of a location that is destroyed.
void free_durations(Location& location);
/// In a forked child, which has no locations yet: the memory of the parent's durations is not counted any more.
void forget_durations();

/// The duration of the call in progress if it ended at `end`. Nothing: processes do not wait in such calls. Inside a
/// scope, or while the location is held.
std::optional<waits::DurationTable::Entry> duration_of_open_call(const Location& location, platform::Ticks end);

/// The rare cases of note_duration(): the call is the shortest or longest of its bin or the first one, a unit has ended
/// during it, or processes do not wait in such calls. Ordinary context; keeps errno.
void note_rare_duration(Location& location, platform::Ticks end, waits::CallBin bin);

/// The call in progress has ended at `end`. Inside a scope.
[[gnu::always_inline]] inline void note_duration(Location& l, platform::Ticks end, const waits::Transfer& transfer) {
  if (!durations_are_noted.load(std::memory_order_relaxed)) [[unlikely]]
    return;
  const OpenCall& call = l.call;
  const waits::CallBin bin(transfer);
  const platform::Ticks whole = end - call.begin;
  const platform::Ticks duration = std::max(whole - call.taken_out, platform::Ticks{0});
  if (call.charged_until != call.begin ||
      !l.durations.add_usual(static_cast<std::uint32_t>(call.node), bin, duration, whole)) [[unlikely]]
    note_rare_duration(l, end, bin);
}

}  // namespace refrain::measurement
