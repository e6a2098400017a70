#pragma once
/// events-<rank>.refrain: where the records of events go while the program runs. Ordinary context, one thread at a
/// time; the locations are the calling thread's, paused, or closed.

#include <cstdint>

#include "measurement/event_log.hpp"
#include "platform/pages.hpp"

namespace refrain::record {

/// Bytes that are whole in the file.
std::uint64_t event_bytes();

enum class EventsUntil : std::uint8_t {
  Kept,  ///< the last that is known to be wanted
  Now,   ///< all, the span in progress included: the process is at its end
};

/// Moves the location's records to the file. When that fails no more events are kept, which is said in one line. Of a
/// sample see tell_unwritten_sample().
void write_events(measurement::Location& location, EventsUntil until);
/// Of a sample, at the end: all that is kept, as frames for the profile to take in. False: that is much, or there is no
/// memory; `frames` is empty then, and the file is the place for it.
bool take_in_events(platform::Bytes& frames);
/// Says in one line, once, that what is kept of a sample could not be written. For when the profile was written: what
/// keeps events from the file keeps the profile from it, too, which says so itself.
void tell_unwritten_sample();
/// The file moves to the experiment from the one that this process had for itself. When that fails its records are
/// lost.
void move_event_file(const char* from);
/// The profile has them.
void remove_event_file();
/// Spans that were dropped since they were written leave the file when the ranks have agreed, or when it has become
/// large. All locations are held.
void drop_outdated_events(EventsUntil until);
/// Both of all locations that are held.
void write_all_events(EventsUntil until);

}  // namespace refrain::record
