#pragma once
/// Events: what happens on a location is noted at once, where it happens, as a record in the location's buffer
/// (events/buffer.hpp). What is kept of the iterations is decided when they end. record/ moves buffers to the file.
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
#include "measurement/boundaries.hpp"
#include "measurement/location.hpp"
#include "measurement/stretches.hpp"
#include "platform/hot.hpp"

namespace refrain::measurement {

struct EventSettings {
  config::TraceSelection selection;
  std::size_t memory = 0;  ///< bytes, of all locations together
  unsigned slowest = 0;    ///< of a sample: iterations of each loop that are kept beside it
  bool stretches = false;  ///< stand for iterations until a loop is marked
};
/// Constant after the first location was made.
REFRAIN_OF_THIS_LIBRARY inline constinit EventSettings event_settings{};

inline bool events_are_kept() { return event_settings.selection.mode != config::TraceMode::Off; }
inline bool is_sample_of_events() { return event_settings.selection.mode == config::TraceMode::Sampled; }

/// Events are kept from here on, if the settings say so. Before the first location is made. `settings`: stretches are
/// for samples only.
void start_events(const EventSettings& settings);
/// Of a new location: its buffer. Ordinary context.
void begin_events(Location& location);

/// No more records are taken, on any location: they can be written nowhere.
REFRAIN_OF_THIS_LIBRARY extern std::atomic<bool> events_have_ended;

/// The program has made calls of which nobody knows what they have sent or received: messages have no numbers any more.
REFRAIN_OF_THIS_LIBRARY extern std::atomic<bool> messages_go_uncounted;

// What happens on a location, in this order: the communications of a call come before the call, what comes while it is
// in progress too. To be called inside a scope, in a tick, or by the thread that has paused the location. Where events
// are not kept these functions do nothing, but the callers of those for calls, communications and samples look at
// Location::keeps_events first. While MPI_Pcontrol has stopped the measurement, nothing is noted of calls that begin
// then, nor samples. Async-signal-safe.

/// A call has sent, received, begun or completed something. `number`: of a record that has one (events::has_number()).
void note_communication(Location& location, events::Record& communication, const events::MessageNumber& number = {});
/// The call in progress is a blocking collective operation on a communicator of all processes, with this identity
/// (definitions.hpp): it ends a stretch.
void note_operation_of_all(Location& location, std::uint64_t communicator);
/// The call in progress has ended at `end`. `is_whole` false: it was left by a jump, or is still in progress when its
/// thread or the measurement ends; `end` is until when it was seen.
void note_call(Location& location, platform::Ticks end, bool is_whole);
/// A tick has found the program's own code.
void note_sample(Location& location, NodeId node, std::int64_t weight_ns);
/// A loop or region of the program begins or ends. `is_whole` false: it was left without its end.
void note_mark(Location& location, const OpenMark& mark, bool begins, bool is_whole, platform::Ticks at);
/// The metrics of REFRAIN_METRICS were read: `Location::extra` has what was read, counted_of() what was counted.
/// `in_call`: at the end of a call, which is yet to be noted.
void note_reading(Location& location, platform::Ticks at, bool in_call);
/// The unit in progress has ended: an iteration, or time outside of iterations. Of a thread that follows the iterations
/// of another, spans in which nothing has happened there come one by one, too. `in_call`: a call is in progress, and
/// goes on. The metrics of REFRAIN_METRICS have been read.
void note_cut(Location& location, IterationId iteration, platform::Ticks end, bool in_call);
/// The location goes on with another thread, or not at all.
void note_thread_end(Location& location);
/// The owner has written events between these two times.
void note_flush(Location& location, platform::Ticks begin, platform::Ticks end);

/// The thread has left Refrain's bookkeeping by a jump: any of these functions may have been left at any instruction.
/// Async-signal-safe.
void mend_events(Location& location);

/// A location is very full: its thread has made no call for long.
inline std::atomic<bool> another_is_full_of_events{false};

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
  events::Buffer::Position kept;  ///< what is before it stays
  events::SpanStore spans;        ///< of a sample: what is kept; `kept` is not used
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

/// Whether the records of the location should go to the file now, and up to where they may.
bool is_full_of_events(const Location& location);
events::Buffer::Position end_of_kept_events(const Location& location);
/// They have gone there, up to that position. By the owner, or when the location is closed or paused.
void remove_events(Location& location, const events::Buffer::Position& to);
/// What of the location is in the file, or of a sample what is kept.
struct EventCounts {
  std::uint64_t records, iterations, lost;
};
EventCounts counts_of_events(const EventLog& log);
/// The process is ending while a call is in progress on the location, which is paused: it is noted up to `now`.
void end_call_of_events(Location& location, platform::Ticks now);

}  // namespace refrain::measurement
