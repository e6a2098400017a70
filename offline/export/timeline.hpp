#pragma once
/// Kept events as the writers of timelines see them: slices that nest on the track of each location, iterations on a
/// track beside it, and messages between tracks.

#include <cstdint>
#include <string>

#include "offline/export/formats.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::exports {

/// A place on the track of a location, nanoseconds of the trace.
struct TimelinePoint {
  std::uint32_t location;
  std::int64_t time_ns;
};

struct TimelineMessage {
  std::uint64_t number;  ///< unique in the timeline, from 1
  TimelinePoint sent, received;
  std::int64_t bytes;
  std::int32_t tag;
};

class Timeline {
 public:
  virtual ~Timeline() = default;
  /// Slices of a location come one location after the other, in the order of time. Each begin has its end, of the last
  /// slice that is open.
  virtual void begin_slice(TimelinePoint at, const trace::RegionOfTrace& region) = 0;
  virtual void end_slice(TimelinePoint at, const trace::RegionOfTrace& region) = 0;
  virtual void iteration(TimelinePoint begin, TimelinePoint end, const std::string& loop, std::int64_t number) = 0;
  /// Events are missing from here on.
  virtual void gap(TimelinePoint at) = 0;
  /// After all slices.
  virtual void message(const TimelineMessage& message) = 0;
};

/// Reads events twice, location by location and in the order of time for messages; with an iteration once more, to find
/// it. A slice that has begun before the chosen time is left out; one that ends after it ends with its last event.
/// Throws ExportError when nothing was kept of the iteration.
void read_timeline(const trace::Trace& trace, const EventChoice& choice, Timeline& timeline);

/// "MPI", "user", ...: a word for a slice's colour.
const char* category_of(const trace::RegionOfTrace& region);

}  // namespace refrain::exports
