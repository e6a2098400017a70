#pragma once
/// Events: what happens on a location is noted where it happens, as a record in the location's buffer
/// (events/buffer.hpp). Which records of an iteration are kept is decided when it ends. record/ moves buffers to the
/// file.
///
/// Spans are kept or dropped as a whole: the records of an iteration that the user has not asked for are dropped at its
/// end. A thread whose buffer is full writes it at the end of its next call; if it makes no calls, another thread
/// writes it. When events are sampled, a span that outgrows its room is truncated, and from then on single messages are
/// sampled, too (events/matched_sample.hpp).

#include <atomic>
#include <cstdint>

#include "config/trace_selection.hpp"
#include "events/buffer.hpp"
#include "events/matched_sample.hpp"
#include "events/message_numbers.hpp"
#include "events/metric_values.hpp"
#include "events/span_store.hpp"
#include "measurement/boundaries.hpp"
#include "measurement/location.hpp"
#include "measurement/stretches.hpp"
#include "platform/hot.hpp"

namespace refrain::measurement {

struct EventSettings {
  config::TraceSelection selection;
  std::size_t memory = 0;  ///< bytes, of all locations together
  unsigned slowest = 0;    ///< number of slowest iterations of each loop that are kept beside a sample
  bool stretches = false;  ///< stretches stand for iterations until a loop is marked
};
/// Constant after the first location was made.
REFRAIN_OF_THIS_LIBRARY inline constinit EventSettings event_settings{};

inline bool events_are_kept() { return event_settings.selection.mode != config::TraceMode::Off; }
inline bool is_sample_of_events() { return event_settings.selection.mode == config::TraceMode::Sampled; }

/// Events are kept from here on, if the settings say so. Before the first location is made. Stretches require that
/// events are sampled.
void start_events(const EventSettings& settings);
/// Makes the buffer of a new location. Ordinary context.
void begin_events(Location& location);

/// No location takes records any more, because they cannot be written.
REFRAIN_OF_THIS_LIBRARY extern std::atomic<bool> events_have_ended;

/// The program has made calls whose messages were not counted: from then on messages have no numbers.
REFRAIN_OF_THIS_LIBRARY extern std::atomic<bool> messages_go_uncounted;

// What happens on a location. A call is noted when it ends, after its communications and after everything that happened
// while it was in progress. To be called inside a scope, in a tick, or by the thread that has paused the location.
// These functions do nothing where events are not kept, but callers of the ones for calls, communications and samples
// check Location::keeps_events first. While MPI_Pcontrol has stopped the measurement, samples and calls that begin then
// are not noted. Async-signal-safe.

/// A call has sent, received, begun or completed something. `number`: the message number of a record that has one
/// (events::has_number()).
void note_communication(Location& location, events::Record& communication, const events::MessageNumber& number = {});
/// The call in progress is a blocking collective operation on a communicator of all processes, with this identity
/// (definitions.hpp): it ends a stretch.
void note_operation_of_all(Location& location, std::uint64_t communicator);
/// The call in progress has ended at `end`. `is_whole` false: it was left by a jump, or is still in progress when its
/// thread or the measurement ends; `end` is when it was last seen.
void note_call(Location& location, platform::Ticks end, bool is_whole);
/// A tick has found the program's own code.
void note_sample(Location& location, NodeId node, std::int64_t weight_ns);
/// A loop or region of the program begins or ends. `is_whole` false: it was left without its end.
void note_mark(Location& location, const OpenMark& mark, bool begins, bool is_whole, platform::Ticks at);
/// The metrics of REFRAIN_METRICS were read: `Location::extra` has the readings, counted_of() the counts. `in_call`: at
/// the end of a call, which is yet to be noted.
void note_reading(Location& location, platform::Ticks at, bool in_call);
/// A span has ended. For a follower this is called once for each span, also for those in which nothing happened.
/// `in_call`: a call is in progress and continues. The metrics of REFRAIN_METRICS have been read.
void note_cut(Location& location, IterationId iteration, platform::Ticks end, bool in_call);
/// The thread of the location has ended; another one may continue it.
void note_thread_end(Location& location);
/// The owner has written events between these two times.
void note_flush(Location& location, platform::Ticks begin, platform::Ticks end);

/// Makes the log consistent after the thread has left Refrain's bookkeeping by a jump: any of these functions may have
/// been left at any instruction. Async-signal-safe.
void mend_events(Location& location);

/// The buffer of some location is nearly full, because its thread has not made a call for long.
inline std::atomic<bool> another_is_full_of_events{false};

/// The events of one location.
struct alignas(64) EventLog {
  // ---- What every call touches: two cache lines ----
  events::Buffer records;
  bool skips = false;        ///< the rest of the span in progress is dropped: the user has not asked for it
  bool is_changing = false;  ///< a change is in progress that appending a record does not cover
  /// Sizes in bytes at which the records should go to the file, and at which another thread is to move them. When
  /// events are sampled, these are larger than the buffer, and 0 once messages are sampled, so one comparison covers
  /// both.
  std::size_t full = 0, very_full = 0;
  Stretches stretches;  ///< of the first thread, when events are sampled; its first word is read by each call

  // ---- Other members ----
  events::Buffer::Position kept;  ///< records before it are kept
  events::SpanStore spans;        ///< of a sample: what is kept; `kept` is not used
  platform::Ticks span_begin = 0;
  std::uint64_t iterations_kept = 0, iterations_written = 0;  ///< those kept, and those of them in the file
  std::uint64_t dropped_before = 0;                           ///< number of dropped records that are counted as losses
  events::MatchedSample matched;  ///< of a sample: messages, from the first span on that has outgrown its room
  events::MessageNumbers numbers;
  events::MetricValues metrics;
  std::uint64_t dropped_before_known = 0;  ///< records.dropped() when a gap last made the reader forget

  /// The next records are encoded without reference to earlier ones.
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
  /// Records were dropped, so a Gap comes before the next record: it refers to nothing before.
  void forget_before_gap() {
    if (records.dropped() == dropped_before_known) [[likely]]
      return;
    dropped_before_known = records.dropped();
    forget_known();
  }
};

/// Whether the records of the location should go to the file now, and up to which position they may.
bool is_full_of_events(const Location& location);
events::Buffer::Position end_of_kept_events(const Location& location);
/// The records up to `to` are in the file. By the owner, or when the location is closed or paused.
void remove_events(Location& location, const events::Buffer::Position& to);
/// Counts of what is in the file, or of what is kept when events are sampled.
struct EventCounts {
  std::uint64_t records, iterations, lost;
};
EventCounts counts_of_events(const EventLog& log);
/// Notes the call in progress on a paused location up to `now`, because the process ends.
void end_call_of_events(Location& location, platform::Ticks now);

}  // namespace refrain::measurement
