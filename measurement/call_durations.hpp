#pragma once
/// How long the calls of a location have taken in which processes can wait for each other, by call path and bin of
/// call (waits/durations.hpp). Noted at the end of each call; what that takes of memory is bounded for the process.

#include <optional>

#include "measurement/location.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/hot.hpp"

namespace refrain::measurement {

/// The most memory of all locations together.
inline constexpr std::size_t max_durations_memory = std::size_t{1} << 20;

/// They are noted. Constant after the first location was made.
REFRAIN_OF_THIS_LIBRARY extern std::atomic<bool> durations_are_noted;

/// From here on they are. Before the first location is made.
void start_durations();
/// Of a location that is no more.
void free_durations(Location& location);
/// In the child, which has no locations yet.
void forget_durations();

/// Of the call in progress, were it to end at `end`; nothing: nobody waits in such calls. Inside a scope, or
/// while the location is held.
std::optional<waits::DurationTable::Entry> duration_of_open_call(const Location& location, platform::Ticks end);

/// What is rare of note_duration(): the call is the shortest or longest of its kind or the first one, a unit has ended
/// in it, or nobody waits in such calls. Ordinary context; keeps errno.
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
