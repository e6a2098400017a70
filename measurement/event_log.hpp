#pragma once
/// The consumer that keeps events: each record of a location is appended to the location's buffer (events/buffer.hpp).
/// What is kept of the iterations is decided when they end. runtime/ moves the buffers to the file.
///
/// Whole spans come and go: the records of an iteration are forgotten at its end when nobody has asked for it. A thread
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
#include "measurement/consumers.hpp"
#include "measurement/stretches.hpp"

namespace refrain::measurement {

struct EventSettings {
  config::TraceSelection selection;
  std::size_t memory = 0;  ///< bytes, of all locations together
  unsigned slowest = 0;    ///< of a sample: iterations of each loop that are kept beside it
  bool stretches = false;  ///< stand for iterations until a loop is marked
};
extern constinit EventSettings event_settings;

/// Of one location.
struct alignas(64) EventLog {
  // ---- What every call touches: two cache lines ----
  events::Buffer records;
  bool skips = false;        ///< the rest of the span in progress: nobody has asked for it
  bool is_changing = false;  ///< more than that a record is appended
  /// Bytes from which on the records should go to the file, and from which on another thread is to see to that. Of a
  /// sample: more than there are, and 0 once messages are sampled; so what is done then costs nothing before.
  std::size_t full = 0, very_full = 0;
  Stretches stretches;  ///< of a sample, of the first thread; its first word is looked at

  // ---- Further ----
  events::Buffer::Place kept;  ///< what is before it stays
  events::SpanStore spans;     ///< of a sample: what is kept; `kept` is not used
  platform::Ticks span_begin = 0;
  std::uint64_t iterations_kept = 0, iterations_written = 0;  ///< the latter of them in the file
  std::uint64_t dropped_before = 0;                           ///< how many dropped records are counted as losses
  events::MatchedSample matched;  ///< of a sample: messages, from the first span on that has outgrown its room
  events::MessageNumbers numbers;
  events::MetricValues metrics;
  std::uint64_t dropped_before_known = 0;  ///< what the reader knows was told since these were dropped

  /// The reader knows nothing any more of what records are relative to.
  void forget_known() {
    numbers.forget();
    metrics.forget();
  }
  void put_number(events::Record& record, const events::MessageNumber& number) {
    forget_before_gap();
    numbers.put(record, number);
  }
  void put_metric(events::Record& record, std::int64_t value) {
    forget_before_gap();
    metrics.put(record, value);
  }

 private:
  /// A gap is about to be told, or was.
  void forget_before_gap() {
    if (records.dropped() == dropped_before_known) [[likely]]
      return;
    dropped_before_known = records.dropped();
    forget_known();
  }
};

extern const Consumer event_consumer;

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
/// What of the location is in the file, or of a sample what is kept.
struct EventCounts {
  std::uint64_t records, iterations, lost;
};
EventCounts counts_of_events(const EventLog& log);
/// The process is ending while calls are in progress on the location, which is paused: they are records up to `now`.
void end_calls_of_events(Location& location, platform::Ticks now);

}  // namespace refrain::measurement
