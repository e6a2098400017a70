#pragma once
/// events-<rank>.refrain: the file of event records while the program runs. Ordinary context, one thread at a time. A
/// location must be that of the calling thread, paused, or closed.

#include <cstdint>

#include "measurement/event_log.hpp"
#include "platform/pages.hpp"

namespace refrain::record {

/// Bytes of complete frames in the file.
std::uint64_t event_bytes();

enum class EventsUntil : std::uint8_t {
  Kept,  ///< up to the last record that is known to be kept
  Now,   ///< all records, including those of the span in progress: the process is at its end
};

/// Moves the location's records to the file. If that fails, no more events are kept, which is reported in one line. For
/// a sample see tell_unwritten_sample().
void write_events(measurement::Location& location, EventsUntil until);
/// Appends all kept spans of a sample as frames to `frames`, for the profile to take in at the end. False: they are too
/// large, or there is no memory; then `frames` is empty, and the spans must go to the file.
bool take_in_events(platform::Bytes& frames);
/// Reports once, in one line, that kept spans of a sample could not be written. Call it after the profile was written:
/// what keeps events from being written does the same to the profile, whose error is then the one to report.
void tell_unwritten_sample();
/// Moves the file from the experiment `from`, which this process had for itself. If that fails, its records are lost.
void move_event_file(const char* from);
/// Removes the file, whose contents the profile has taken in.
void remove_event_file();
/// Removes spans from the file that were dropped since they were written, once the ranks have agreed, or when the file
/// has grown large. All locations must be held.
void drop_outdated_events(EventsUntil until);
/// Calls drop_outdated_events(), then write_events() for all locations that are held.
void write_all_events(EventsUntil until);

}  // namespace refrain::record
