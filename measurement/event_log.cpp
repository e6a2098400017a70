#include "measurement/event_log.hpp"

#include <optional>
#include <utility>

#include "measurement/iterations.hpp"
#include "measurement/listener.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/hot.hpp"

namespace refrain::measurement {

constinit EventSettings event_settings{};
REFRAIN_HOT_DATA std::atomic<bool> events_have_ended{false};
std::atomic<bool> another_is_full_of_events{false};

namespace {

using events::Kind;
using events::Record;
using platform::Ticks;

/// False: nothing is to be kept.
bool takes_records(Location& l) {
  if (l.event_head.skips) return false;
  if (!events_have_ended.load(std::memory_order_relaxed)) [[likely]]
    return true;
  l.event_head.records.drop();
  return false;
}

/// While it lives, the events cannot be made whole by what is in their buffer.
class Changing {
 public:
  explicit Changing(EventHead& head) : head_(head) {
    head_.is_changing = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Changing() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    head_.is_changing = false;
  }
  Changing(const Changing&) = delete;

 private:
  EventHead& head_;
};

/// What the span in progress will have been. Nothing: that is not known yet.
std::optional<SpanOf> span_in_progress(const Location& l) {
  if (l.following) return std::nullopt;
  const Iterations* of = l.iterations;
  return of && of->in_iteration ? iteration_of(of->current->region, of->current->iterations) : outside_of_iterations;
}

bool is_wanted_span(SpanOf of) {
  return of == outside_of_iterations || event_settings.selection.has(static_cast<std::int64_t>(iteration_of_span(of)));
}

/// A record has found no room, or has filled the buffer.
[[gnu::cold]] void make_room(Location& l) {
  EventHead& head = l.event_head;
  if (is_sample_of_events()) {  // the span in progress has had its share
    l.events->matched.begin();
    head.samples_messages = true;
    return;
  }
  const auto span = span_in_progress(l);
  if (span && !is_wanted_span(*span)) {
    head.records.rewind(l.events->kept);
    head.skips = true;
  } else if (head.is_very_full() && is_full_of_events(l)) {
    another_is_full_of_events.store(true, std::memory_order_relaxed);
    snapshot_due.store(0, std::memory_order_relaxed);
  }
}

/// True: it has found room, and there is more.
bool append_quickly(EventHead& head, const Record& record) {
  return head.records.append(record) && !head.is_very_full();
}

void append(Location& l, const Record& record) {
  if (!append_quickly(l.event_head, record)) [[unlikely]]
    make_room(l);
}

static_assert(most_extra_metrics <= events::most_metrics);

/// The last reading of the metrics that the user has asked for, one record each. False: some have found no room.
bool put_readings(Location& l, Ticks at, bool in_call) {
  if (!l.extra->counters || events_have_ended.load(std::memory_order_relaxed)) return true;
  bool has_room = true;
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) {
    Record r;
    r.kind = Kind::Metric;
    r.is_within = in_call;
    r.region = static_cast<std::uint16_t>(i);
    r.time = at;
    l.events->forget_before_gap(l.event_head.records.dropped());
    l.events->metrics.put(r, counted_of(*l.extra, i));
    has_room &= l.event_head.records.append(r);
  }
  return has_room;
}

/// The next span can be read without those before: the reader knows nothing, and the counts at its begin are told.
void begin_span(Location& l, Ticks at, bool in_call) {
  l.events->forget_known();
  l.events->span_begin = at;
  if (!l.extra) return;
  (void)put_readings(l, at, in_call);
  if (is_sample_of_events()) l.events->spans.note_begin(l.event_head.records);
}

[[gnu::cold]] void sample_message(Location& l, const Record& record, const events::MessageNumber& number) {
  make_room(l);
  if (l.event_head.samples_messages && events::is_message(record.kind)) l.events->matched.add(record, number);
}

/// The buffer is full, or messages are sampled.
[[gnu::cold]] void end_call_when_full(Location& l, const events::CallRecord& call) {
  if (l.event_head.samples_messages) l.events->matched.end_call(call);
  // Looked at when the call has ended: there files can be written.
  else if (is_full_of_events(l)) snapshot_due.store(0, std::memory_order_relaxed);
}

/// A blocking collective operation of all processes has ended, and with it a stretch.
[[gnu::noinline]] void end_stretch(Location& l, const events::CallRecord& call) {
  EventLog& log = *l.events;
  l.event_head.ends_stretch = false;
  // One that was left is seen by the code that finds it out, in a handler perhaps.
  if (!call.is_whole) return log.stretches.forget_collective();
  const Changing whole(l.event_head);
  log.spans.end_span(l.event_head.records, log.stretches.close(call, log.span_begin));
  begin_span(l, call.time, false);
}

/// Dropped records of spans that are kept are losses.
void count_dropped(Location& l) {
  const std::uint64_t dropped = l.event_head.records.dropped();
  l.add_loss(Loss::EventsLost, static_cast<std::int64_t>(dropped - std::exchange(l.events->dropped_before, dropped)));
}

Record end_of_span(const EventLog& log, SpanOf of, Ticks end, bool in_call) {
  Record r;
  r.kind = Kind::Span;
  r.is_within = in_call;
  r.region = static_cast<std::uint16_t>(loop_of_span(of));
  r.value = of == outside_of_iterations ? 0 : static_cast<std::int64_t>(iteration_of_span(of));
  r.begin = log.span_begin;
  r.time = end;
  return r;
}

/// Not of a sample.
void take_over_span(Location& l, SpanOf of, Ticks end, bool in_call) {
  if (takes_records(l)) {
    append(l, end_of_span(*l.events, of, end, in_call));
    l.events->iterations_kept += of != outside_of_iterations;
  }
  l.events->kept = l.event_head.records.end();
  count_dropped(l);
}

/// Whether a span of a sample is dropped because nothing has happened in it.
bool is_empty(const Location& l, SpanOf of) {
  return is_sample_of_events() && of == outside_of_iterations && l.events->spans.is_empty(l.event_head.records);
}

}  // namespace

bool events_are_kept() { return event_settings.selection.mode != config::TraceMode::Off; }

REFRAIN_HOT_CODE void keep_call(Location& l, Ticks end, bool is_whole) {
  const OpenCall& call = l.call;
  if (call.node == unrecorded_call || !takes_records(l)) return;
  EventHead& head = l.event_head;
  std::int64_t off_ns = 0;
  if (call.was_off_cpu) [[unlikely]]
    off_ns = take_off_cpu_of_call(l);
  const events::CallRecord record{.time = end,
                                  .begin = call.begin,
                                  .node = static_cast<std::uint32_t>(call.node),
                                  .region = static_cast<std::uint16_t>(call.region),
                                  .is_whole = is_whole,
                                  .off_ns = off_ns};
  if (!head.records.append(record)) [[unlikely]]
    make_room(l);
  // Such an operation has no messages.
  if (head.ends_stretch) return end_stretch(l, record);
  if (head.is_full()) [[unlikely]]
    end_call_when_full(l, record);
}

REFRAIN_HOT_CODE_OF_MANY void keep(Location& l, const Record& record) {
  if (!takes_records(l)) return;
  if (record.kind == Kind::Mark && record.is_loop) l.events->stretches.end();
  append(l, record);
}

REFRAIN_HOT_CODE_OF_MANY void keep(Location& l, Record& record, const events::MessageNumber& number) {
  if (!takes_records(l)) return;
  l.events->forget_before_gap(l.event_head.records.dropped());
  l.events->numbers.put(record, number);
  if (!append_quickly(l.event_head, record)) [[unlikely]]
    sample_message(l, record, number);
}

void keep_synchronization_of_all(Location& l, std::uint64_t identity) {
  if (!takes_records(l)) return;
  l.events->stretches.note_collective(identity);
  l.event_head.ends_stretch = l.events->stretches.has_collective();
}

void keep_reading(Location& l, Ticks at, bool in_call) {
  if (!takes_records(l)) return;
  if (!put_readings(l, at, in_call) || l.event_head.is_very_full()) [[unlikely]]
    make_room(l);
}

void keep_span(Location& l, SpanOf of, Ticks end, bool in_call) {
  EventHead& head = l.event_head;
  EventLog& log = *l.events;
  const Changing whole(head);
  if (l.extra && !head.skips && !is_empty(l, of)) (void)put_readings(l, end, in_call);
  if (is_sample_of_events()) {
    if (takes_records(l)) log.spans.end_span(head.records, end_of_span(log, of, end, in_call));
  } else if (is_wanted_span(of)) {
    take_over_span(l, of, end, in_call);
  } else {
    head.records.rewind(log.kept);
    log.dropped_before = head.records.dropped();
  }
  head.skips = false;
  if (event_settings.selection.mode == config::TraceMode::All) log.span_begin = end;  // one behind the other
  else begin_span(l, end, in_call);
}

void keep_end_of_thread(Location& l) {
  if (takes_records(l)) {
    if (l.extra) (void)put_readings(l, l.end, false);
    Record r;
    r.kind = Kind::ThreadEnd;
    r.time = l.end;
    append(l, r);
  }
  if (!is_sample_of_events()) count_dropped(l);
}

void mend_events(Location& l) {
  EventHead& head = l.event_head;
  EventLog& log = *l.events;
  log.forget_known();
  if (!head.is_changing) return head.records.recover(is_sample_of_events() ? log.spans.begin() : log.kept);
  if (is_sample_of_events()) {
    log.span_begin = platform::now();
    log.spans.start_over(head.records, log.span_begin);
  } else {
    head.records.drop_all();
    count_dropped(l);
  }
  log.kept = head.records.end();
  head.skips = head.is_changing = false;
}

bool is_full_of_events(const Location& l) {
  const EventHead& head = l.event_head;
  return l.keeps_events && head.goes_to_file && head.is_full() && end_of_kept_events(l).size > 0;
}

events::Buffer::Place end_of_kept_events(const Location& l) {
  const EventHead& head = l.event_head;
  const bool is_all = event_settings.selection.mode == config::TraceMode::All;
  if (is_all || head.skips) return is_all ? head.records.end() : l.events->kept;
  const auto span = span_in_progress(l);
  return span && is_wanted_span(*span) ? head.records.end() : l.events->kept;
}

void remove_events(Location& l, const events::Buffer::Place& to) {
  EventLog& log = *l.events;
  const Changing whole(l.event_head);
  log.kept = l.event_head.records.remove(to);
  log.forget_known();
  log.iterations_written = log.iterations_kept;
}

void note_flush(Location& l, Ticks begin, Ticks end) {
  if (!l.keeps_events || !takes_records(l)) return;
  Record r;
  r.kind = Kind::Flush;
  r.begin = begin;
  r.time = end;
  append(l, r);
}

EventCounts counts_of_events(const Location& l) {
  const EventLog& log = *l.events;
  const std::uint64_t dropped = l.event_head.records.dropped();
  if (is_sample_of_events()) return {log.spans.records(), log.spans.iterations(), dropped + log.spans.lost()};
  return {l.event_head.records.removed(), log.iterations_written, dropped};
}

void end_call_of_events(Location& l, Ticks now) {
  if (l.keeps_events && !l.stopped) keep_call(l, now, false);
}

}  // namespace refrain::measurement
