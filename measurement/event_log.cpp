#include "measurement/event_log.hpp"

#include <optional>

#include "measurement/consumers.hpp"
#include "measurement/iterations.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/hot.hpp"

namespace refrain::measurement {

constinit EventSettings event_settings{};
REFRAIN_HOT_DATA_OF_CONSUMERS std::atomic<bool> events_have_ended{false};
std::atomic<bool> another_is_full_of_events{false};

namespace {

using events::Kind;
using events::MatchedSample;
using events::Record;

static_assert(static_cast<int>(Kind::Send) == static_cast<int>(Communication::Kind::Send) + 1 &&
              static_cast<int>(Kind::Generalized) == static_cast<int>(Communication::Kind::Generalized) + 1 &&
              static_cast<int>(Kind::Synchronization) == static_cast<int>(Communication::Kind::Synchronization) + 1);
static_assert(static_cast<int>(events::Phase::Cancelled) == static_cast<int>(Communication::Phase::Cancelled));

/// null: nothing is to be kept.
EventLog* log_of(Location& l) {
  EventLog* log = l.events;
  if (!log || log->skips) return nullptr;
  if (!events_have_ended.load(std::memory_order_relaxed)) [[likely]]
    return log;
  log->records.drop();
  return nullptr;
}

/// While it lives, the log cannot be made whole by what is in its buffer.
class Changing {
 public:
  explicit Changing(EventLog& log) : log_(log) {
    log_.is_changing = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Changing() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    log_.is_changing = false;
  }
  Changing(const Changing&) = delete;

 private:
  EventLog& log_;
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
  EventLog& log = *l.events;
  if (is_sample_of_events()) {  // the span in progress has had its share
    log.matched.begin();
    log.full = log.very_full = 0;
    return;
  }
  const auto span = span_in_progress(l);
  if (span && !is_wanted_span(*span)) {
    log.records.rewind(log.kept);
    log.skips = true;
  } else if (log.records.size() >= log.very_full && is_full_of_events(l)) {
    another_is_full_of_events.store(true, std::memory_order_relaxed);
    snapshot_due.store(0, std::memory_order_relaxed);
  }
}

/// True: it has found room, and there is more.
bool append_quickly(EventLog& log, const Record& record) {
  return log.records.append(record) && log.records.size() < log.very_full;
}

void append(Location& l, const Record& record) {
  if (!append_quickly(*l.events, record)) [[unlikely]]
    make_room(l);
}

static_assert(most_extra_metrics <= events::most_metrics);

/// What was read last of the metrics that the user has asked for, one record each. False: some have found no room.
bool put_readings(const Location& l, EventLog& log, const ReadingRecord& reading) {
  if (!l.extra->counters || events_have_ended.load(std::memory_order_relaxed)) return true;
  bool has_room = true;
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) {
    Record r;
    r.kind = Kind::Metric;
    r.is_within = reading.in_call;
    r.region = static_cast<std::uint16_t>(i);
    r.time = reading.at;
    log.put_metric(r, counted_of(*l.extra, i));
    has_room &= log.records.append(r);
  }
  return has_room;
}

void on_reading(Location& l, const ReadingRecord& reading) {
  EventLog* log = log_of(l);
  if (!log) return;
  if (!put_readings(l, *log, reading) || log->records.size() >= log->very_full) [[unlikely]]
    make_room(l);
}

/// The next span can be read without those before: the reader knows nothing, and the counts at its begin are told.
void begin_span(const Location& l, EventLog& log, const ReadingRecord& begin) {
  log.forget_known();
  log.span_begin = begin.at;
  if (!l.extra) return;
  (void)put_readings(l, log, begin);
  if (is_sample_of_events()) log.spans.note_begin(log.records);
}

[[gnu::cold]] void sample_message(Location& l, const Record& record, const events::MessageNumber& number) {
  make_room(l);
  MatchedSample& matched = l.events->matched;
  if (matched.is_on() && events::is_message(record.kind)) matched.add(record, number);
}

/// The buffer is full, or messages are sampled.
[[gnu::cold]] void end_call(Location& l, const events::CallRecord& call) {
  MatchedSample& matched = l.events->matched;
  if (matched.is_on()) matched.end_call(call);
  // Looked at when the call has ended: there files can be written.
  else if (is_full_of_events(l)) snapshot_due.store(0, std::memory_order_relaxed);
}

/// A blocking collective operation of all processes has ended, and with it a stretch.
[[gnu::noinline]] void end_stretch(const Location& l, EventLog& log, const CallRecord& call) {
  // One that was left is seen by who finds it out, in a handler perhaps.
  if (call.is_within || !call.is_whole) return log.stretches.forget_collective();
  const Changing whole(log);
  log.spans.end_span(log.records, log.stretches.close(call, log.span_begin));
  begin_span(l, log, {call.end, false});
}

REFRAIN_HOT_CODE void on_call(Location& l, const CallRecord& call) {
  EventLog* log = log_of(l);
  if (!log) return;
  const events::CallRecord record{call.is_whole,
                                  call.time == ClassOfTime::Io,
                                  call.is_within,
                                  static_cast<std::uint16_t>(call.region),
                                  static_cast<std::uint32_t>(call.node),
                                  call.begin,
                                  call.end};
  if (!log->records.append(record)) [[unlikely]]
    make_room(l);
  // Such an operation has no messages.
  if (log->stretches.has_collective()) return end_stretch(l, *log, call);
  if (log->records.size() >= log->full) [[unlikely]]
    end_call(l, record);
}

void on_communication(Location& l, const Communication& c) {
  EventLog* log = log_of(l);
  if (!log) return;
  if (c.of_all != 0) log->stretches.note_collective(c.of_all);
  Record r;
  r.kind = static_cast<Kind>(static_cast<unsigned>(c.kind) + 1);
  r.phase = static_cast<events::Phase>(c.phase);
  r.peer = c.peer;
  r.tag = c.tag;
  r.communicator = c.communicator;
  r.request = c.request;
  r.begun_thread = c.begun.thread;
  r.begun_node = static_cast<std::uint32_t>(c.begun.node);
  r.bytes_sent = c.bytes_sent;
  r.bytes_received = c.bytes_received;
  if (r.kind == Kind::Synchronization) r.ordinal = c.number.ordinal;
  if (!events::has_number(r.kind, r.phase)) return append(l, r);
  log->put_number(r, c.number);
  if (!append_quickly(*log, r)) [[unlikely]]
    sample_message(l, r, c.number);
}

void on_sample(Location& l, const SampleRecord& sample) {
  EventLog* log = log_of(l);
  if (!log) return;
  Record r;
  r.kind = Kind::Sample;
  r.node = static_cast<std::uint32_t>(sample.node);
  r.time = sample.at;
  r.value = sample.weight_ns;
  append(l, r);
}

void on_mark(Location& l, const MarkRecord& mark) {
  EventLog* log = log_of(l);
  if (!log) return;
  if (mark.is_loop) log->stretches.end();
  Record r;
  r.kind = Kind::Mark;
  r.begins = mark.kind == MarkRecord::Kind::Begin;
  r.is_loop = mark.is_loop;
  r.is_whole = mark.is_whole;
  r.region = static_cast<std::uint16_t>(mark.region);
  r.node = static_cast<std::uint32_t>(mark.node);
  r.time = mark.at;
  append(l, r);
}

/// Dropped records of spans that are kept are losses.
void count_dropped(Location& l) {
  EventLog& log = *l.events;
  l.add_loss(Loss::EventsLost, static_cast<std::int64_t>(log.records.dropped() - log.dropped_before));
  log.dropped_before = log.records.dropped();
}

Record end_of_span(const EventLog& log, const CutRecord& cut) {
  Record r;
  r.kind = Kind::Span;
  r.is_within = cut.in_call;
  r.region = static_cast<std::uint16_t>(loop_of_span(cut.of));
  r.value = cut.of == outside_of_iterations ? 0 : static_cast<std::int64_t>(iteration_of_span(cut.of));
  r.begin = log.span_begin;
  r.time = cut.end;
  return r;
}

void keep_span(Location& l, const CutRecord& cut) {
  EventLog& log = *l.events;
  if (log_of(l)) {
    append(l, end_of_span(log, cut));
    log.iterations_kept += cut.of != outside_of_iterations;
  }
  log.kept = log.records.end();
  count_dropped(l);
}

/// Whether a span of a sample is dropped because nothing has happened in it.
bool is_empty(const EventLog& log, SpanOf of) {
  return is_sample_of_events() && of == outside_of_iterations && log.spans.is_empty(log.records);
}

void on_cut(Location& l, const CutRecord& cut) {
  EventLog* log = l.events;
  if (!log) return;
  const Changing whole(*log);
  if (l.extra && !log->skips && !is_empty(*log, cut.of)) (void)put_readings(l, *log, {cut.end, cut.in_call});
  if (is_sample_of_events()) {
    if (log_of(l)) log->spans.end_span(log->records, end_of_span(*log, cut));
  } else if (is_wanted_span(cut.of)) {
    keep_span(l, cut);
  } else {
    log->records.rewind(log->kept);
    log->dropped_before = log->records.dropped();
  }
  log->skips = false;
  if (event_settings.selection.mode == config::TraceMode::All) log->span_begin = cut.end;  // one behind the other
  else begin_span(l, *log, {cut.end, cut.in_call});
}

void on_thread_end(Location& l) {
  if (!l.events) return;
  if (log_of(l)) {
    if (l.extra) (void)put_readings(l, *l.events, {l.end, false});
    Record r;
    r.kind = Kind::ThreadEnd;
    r.time = l.end;
    append(l, r);
  }
  if (!is_sample_of_events()) count_dropped(l);
}

void on_abandoned(Location& l) {
  EventLog* log = l.events;
  if (!log) return;
  log->forget_known();
  if (!log->is_changing) return log->records.recover(is_sample_of_events() ? log->spans.begin() : log->kept);
  if (is_sample_of_events()) {
    log->span_begin = platform::now();
    log->spans.start_over(log->records, log->span_begin);
  } else {
    log->records.drop_all();
    count_dropped(l);
  }
  log->kept = log->records.end();
  log->skips = log->is_changing = false;
}

}  // namespace

constinit const Consumer event_consumer = {.call = on_call,
                                           .communication = on_communication,
                                           .sample = on_sample,
                                           .mark = on_mark,
                                           .cut = on_cut,
                                           .thread_ended = on_thread_end,
                                           .numbers = true,
                                           .reading = on_reading,
                                           .abandoned = on_abandoned};

bool is_full_of_events(const Location& l) {
  return l.events && !is_sample_of_events() && l.events->records.size() >= l.events->full &&
         end_of_kept_events(l).size > 0;
}

events::Buffer::Place end_of_kept_events(const Location& l) {
  const bool is_all = event_settings.selection.mode == config::TraceMode::All;
  if (is_all || l.events->skips) return is_all ? l.events->records.end() : l.events->kept;
  const auto span = span_in_progress(l);
  return span && is_wanted_span(*span) ? l.events->records.end() : l.events->kept;
}

void remove_events(Location& l, const events::Buffer::Place& to) {
  EventLog& log = *l.events;
  const Changing whole(log);
  log.kept = log.records.remove(to);
  log.forget_known();
  log.iterations_written = log.iterations_kept;
}

void note_flush(Location& l, platform::Ticks begin, platform::Ticks end) {
  if (!l.events || !log_of(l)) return;
  Record r;
  r.kind = Kind::Flush;
  r.begin = begin;
  r.time = end;
  append(l, r);
}

EventCounts counts_of_events(const EventLog& log) {
  if (is_sample_of_events())
    return {log.spans.records(), log.spans.iterations(), log.records.dropped() + log.spans.lost()};
  return {log.records.removed(), log.iterations_written, log.records.dropped()};
}

void end_calls_of_events(Location& l, platform::Ticks now) {
  if (!l.events || l.stopped) return;
  const auto end = [&](const OpenCall& call, bool is_within) {
    if (call.node != unrecorded_call)
      on_call(l, {call.region, call.time, false, is_within, call.node, call.begin, now});
  };
  end(l.call, l.calls_around > 0);
  for (unsigned i = l.calls_around; i > 0; --i) end(l.around[i - 1], i > 1);
}

}  // namespace refrain::measurement
