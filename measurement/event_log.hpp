#pragma once
/// What the listener (listener.hpp) keeps of a location: each record is appended to the location's buffer
/// (events/buffer.hpp). What stays of an iteration is decided when it ends. runtime/ moves the buffers to the file.
///
/// Whole spans come and go: the records of an iteration that was not asked for are forgotten at its end. A thread
/// whose buffer is full writes it at the end of its next call; one that makes no calls has it written by another. Of a
/// sample, a span that outgrows its room is cut; from then on single messages are sampled, too
/// (events/matched_sample.hpp).

#include <atomic>
#include <cstdint>

#include "config/trace_selection.hpp"
#include "events/buffer.hpp"
#include "events/matched_sample.hpp"
#include "events/message_numbers.hpp"
#include "events/metric_values.hpp"
#include "events/span_store.hpp"
#include "measurement/location.hpp"
#include "measurement/stretches.hpp"

namespace refrain::measurement {

struct EventSettings {
  config::TraceSelection selection;
  std::size_t memory = 0;  ///< bytes, of all locations together
  unsigned slowest = 0;    ///< of a sample: iterations of each loop that are kept beside it
  bool stretches = false;  ///< stand for iterations until a loop is marked
};
extern constinit EventSettings event_settings;

/// Of one location, beside its EventHead.
struct EventLog {
  // ---- Messages: the first line ----
  std::uint64_t dropped_before_known = 0;  ///< the reader knows what was told since these were dropped
  events::MessageNumbers numbers;

  // ---- Further ----
  events::Buffer::Place kept;  ///< records before it stay
  events::SpanStore spans;     ///< of a sample: those that stay; `kept` is not used
  platform::Ticks span_begin = 0;
  std::uint64_t iterations_kept = 0, iterations_written = 0;  ///< the latter of them in the file
  std::uint64_t dropped_before = 0;                           ///< how many dropped records are counted as losses
  events::MatchedSample matched;  ///< of a sample: messages, from the first span on that has outgrown its room
  events::MetricValues metrics;
  Stretches stretches;  ///< of a sample, of the first thread

  /// The reader knows nothing any more of what records are relative to.
  void forget_known() {
    numbers.forget();
    metrics.forget();
  }
  /// The same when a gap is about to be told, or was: so many records were dropped.
  void forget_before_gap(std::uint64_t dropped) {
    if (dropped == dropped_before_known) [[likely]]
      return;
    dropped_before_known = dropped;
    forget_known();
  }
};

inline bool is_sample_of_events() { return event_settings.selection.mode == config::TraceMode::Sampled; }

/// Events are kept from here on. Before the first location is made. `settings`: stretches are for samples only.
void start_events(const EventSettings& settings);
/// Of a new location: its buffer. Ordinary context.
void begin_events(Location& location);

/// No more records are taken, on any location: they can be written nowhere.
extern std::atomic<bool> events_have_ended;

/// A location is very full: its thread has made no call for long.
extern std::atomic<bool> another_is_full_of_events;

/// Whether the records of the location should go to the file now, and up to where they may.
bool is_full_of_events(const Location& location);
events::Buffer::Place end_of_kept_events(const Location& location);
/// They have gone there, up to that place. By the owner, or when the location is closed or paused.
void remove_events(Location& location, const events::Buffer::Place& to);
/// The owner has written events between these two times.
void note_flush(Location& location, platform::Ticks begin, platform::Ticks end);
/// The events of the location that are in the file, or of a sample that are kept.
struct EventCounts {
  std::uint64_t records, iterations, lost;
};
EventCounts counts_of_events(const Location& location);
/// The process is ending while a call is in progress on the location, which is paused: it has a record up to `now`.
void end_call_of_events(Location& location, platform::Ticks now);

}  // namespace refrain::measurement
