#pragma once
/// Kept events as the writers of timeline formats see them: nested slices on the track of each location, iterations on
/// a separate track, and messages between tracks.

#include <cstdint>
#include <string>

#include "offline/export/formats.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::exports {

/// A point on the track of a location, in nanoseconds of the trace.
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
  /// Slices come location by location, in the order of time. Each begin has an end; an end belongs to the innermost
  /// open slice.
  virtual void begin_slice(TimelinePoint at, const trace::RegionOfTrace& region) = 0;
  /// `off_cpu_ns`: time of the slice off the CPU, as far as its event says.
  virtual void end_slice(TimelinePoint at, const trace::RegionOfTrace& region, std::int64_t off_cpu_ns) = 0;
  virtual void iteration(TimelinePoint begin, TimelinePoint end, const std::string& loop, std::int64_t number) = 0;
  /// Events are missing from here on.
  virtual void gap(TimelinePoint at) = 0;
  /// Messages come after all slices.
  virtual void message(const TimelineMessage& message) = 0;
};

/// Reads the events twice: location by location, then in the order of time for messages; a chosen iteration takes one
/// more pass, which finds it. A slice that begins before the chosen time is left out; one that ends after it is ended
/// at its last event. Throws ExportError when no events of the iteration were kept.
void read_timeline(const trace::Trace& trace, const EventChoice& choice, Timeline& timeline);

/// "MPI", "mark", ...: the category of a slice, for its colour.
const char* category_of(const trace::RegionOfTrace& region);

}  // namespace refrain::exports
