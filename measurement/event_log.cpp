#include "measurement/event_log.hpp"

#include <optional>

#include "measurement/iterations.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/hot.hpp"

namespace refrain::measurement {

REFRAIN_HOT_DATA_OF_EVENTS std::atomic<bool> events_have_ended{false};
REFRAIN_HOT_DATA_OF_EVENTS constinit std::atomic<bool> messages_go_uncounted{false};

namespace {

using events::Kind;
using events::MatchedSample;
using events::Record;

/// The log that records of the location go to. Null: nothing is kept.
EventLog* log_of(Location& l) {
  EventLog* log = l.events;
  if (!log || log->skips) return nullptr;
  if (!events_have_ended.load(std::memory_order_relaxed)) [[likely]]
    return log;
  log->records.drop();
  return nullptr;
}

/// While it lives, the log cannot be restored from its buffer.
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

/// The iteration that the span in progress will have been. Nothing: a follower does not know it yet.
std::optional<IterationId> span_in_progress(const Location& l) {
  if (l.follower) return std::nullopt;
  const Iterations* all = l.iterations;
  // An iteration in progress without a loop is being left: the mark of its loop has been dropped.
  if (!all || !all->in_iteration || !all->current) return outside_of_iterations;
  return iteration_id(all->current->region, all->current->iterations);
}

bool is_wanted_span(IterationId iteration) {
  return iteration == outside_of_iterations ||
         event_settings.selection.has(static_cast<std::int64_t>(iteration_number(iteration)));
}

/// A record found no room, or has filled the buffer.
[[gnu::cold]] void make_room(Location& l) {
  EventLog& log = *l.events;
  if (is_sample_of_events()) {  // the span in progress has used up its share
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

/// False: the record found no room, or the buffer is nearly full now.
bool append_quickly(EventLog& log, const Record& record) {
  return log.records.append(record) && log.records.size() < log.very_full;
}

void append(Location& l, const Record& record) {
  if (!append_quickly(*l.events, record)) [[unlikely]]
    make_room(l);
}

static_assert(max_extra_metrics <= events::max_metrics);

/// Appends the last readings of the extra metrics, one record each. False: some found no room.
bool put_readings(const Location& l, EventLog& log, platform::Ticks at, bool in_call) {
  if (!l.extra->counters || events_have_ended.load(std::memory_order_relaxed)) return true;
  bool has_room = true;
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) {
    Record r{.kind = Kind::Metric, .is_within = in_call, .region = static_cast<std::uint16_t>(i), .time = at};
    log.put_metric(r, counted_of(*l.extra, i));
    has_room &= log.records.append(r);
  }
  return has_room;
}

/// Begins a span that can be read without earlier ones: its records refer to nothing before, and the metrics at its
/// begin are recorded.
void begin_span(const Location& l, EventLog& log, platform::Ticks begin, bool in_call) {
  log.forget_known();
  log.span_begin = begin;
  if (!l.extra) return;
  (void)put_readings(l, log, begin, in_call);
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
  // Checked at the end of calls, where files can be written.
  else if (is_full_of_events(l)) snapshot_due.store(0, std::memory_order_relaxed);
}

/// A blocking collective operation of all processes has ended, and with it a stretch.
[[gnu::noinline]] void end_stretch(const Location& l, EventLog& log, const events::CallRecord& call) {
  // The end of a call that was left by a jump may be noticed in a handler, at any time.
  if (!call.is_whole) return log.stretches.forget_collective();
  const Changing whole(log);
  log.spans.end_span(log.records, log.stretches.close(call, log.span_begin));
  begin_span(l, log, call.time, false);
}

/// Counts dropped records of kept spans as losses.
void count_dropped(Location& l) {
  EventLog& log = *l.events;
  l.add_loss(Loss::EventsLost, static_cast<std::int64_t>(log.records.dropped() - log.dropped_before));
  log.dropped_before = log.records.dropped();
}

Record end_of_span(const EventLog& log, IterationId iteration, platform::Ticks end, bool in_call) {
  return {.kind = Kind::Span,
          .is_within = in_call,
          .region = static_cast<std::uint16_t>(loop_of(iteration)),
          .time = end,
          .begin = log.span_begin,
          .value = static_cast<std::int64_t>(iteration_number(iteration))};
}

void keep_span(Location& l, IterationId iteration, platform::Ticks end, bool in_call) {
  EventLog& log = *l.events;
  if (log_of(l)) {
    append(l, end_of_span(log, iteration, end, in_call));
    log.iterations_kept += iteration != outside_of_iterations;
  }
  log.kept = log.records.end();
  count_dropped(l);
}

/// Whether a span will be dropped because events are sampled and nothing has happened in it.
bool is_empty(const EventLog& log, IterationId iteration) {
  return is_sample_of_events() && iteration == outside_of_iterations && log.spans.is_empty(log.records);
}

}  // namespace

REFRAIN_HOT_CODE void note_call(Location& l, platform::Ticks end, bool is_whole) {
  const OpenCall& call = l.call;
  EventLog* log = call.node == unrecorded_call ? nullptr : log_of(l);
  if (!log) return;
  const events::CallRecord record{is_whole, static_cast<std::uint16_t>(call.region),
                                  static_cast<std::uint32_t>(call.node), call.begin, end};
  const bool is_off_cpu = __builtin_expect(l.off_cpu.call_begin == call.begin, false);
  if (!(is_off_cpu ? log->records.append(record, l.off_cpu.call_ns) : log->records.append(record))) [[unlikely]]
    make_room(l);
  // Such an operation has no messages to be sampled.
  if (log->stretches.has_collective()) return end_stretch(l, *log, record);
  if (log->records.size() >= log->full) [[unlikely]]
    end_call(l, record);
}

void note_communication(Location& l, Record& communication, const events::MessageNumber& number) {
  EventLog* log = log_of(l);
  if (!log) return;
  if (!events::has_number(communication.kind, communication.phase)) return append(l, communication);
  log->put_number(communication, number);
  if (!append_quickly(*log, communication)) [[unlikely]]
    sample_message(l, communication, number);
}

void note_operation_of_all(Location& l, std::uint64_t communicator) {
  if (l.events) l.events->stretches.note_collective(communicator);
}

void note_sample(Location& l, NodeId node, std::int64_t weight_ns) {
  if (!log_of(l)) return;
  append(l,
         {.kind = Kind::Sample, .node = static_cast<std::uint32_t>(node), .time = platform::now(), .value = weight_ns});
}

void note_mark(Location& l, const OpenMark& mark, bool begins, bool is_whole, platform::Ticks at) {
  EventLog* log = log_of(l);
  if (!log) return;
  if (mark.is_loop) log->stretches.end();
  append(l, {.kind = Kind::Mark,
             .is_whole = is_whole,
             .begins = begins,
             .is_loop = mark.is_loop,
             .region = static_cast<std::uint16_t>(mark.region),
             .node = static_cast<std::uint32_t>(mark.node),
             .time = at});
}

void note_reading(Location& l, platform::Ticks at, bool in_call) {
  EventLog* log = log_of(l);
  if (!log) return;
  if (!put_readings(l, *log, at, in_call) || log->records.size() >= log->very_full) [[unlikely]]
    make_room(l);
}

void note_cut(Location& l, IterationId iteration, platform::Ticks end, bool in_call) {
  EventLog* log = l.events;
  if (!log) return;
  const Changing whole(*log);
  if (l.extra && !log->skips && !is_empty(*log, iteration)) (void)put_readings(l, *log, end, in_call);
  if (is_sample_of_events()) {
    if (log_of(l)) log->spans.end_span(log->records, end_of_span(*log, iteration, end, in_call));
  } else if (is_wanted_span(iteration)) {
    keep_span(l, iteration, end, in_call);
  } else {
    log->records.rewind(log->kept);
    log->dropped_before = log->records.dropped();
  }
  log->skips = false;
  if (event_settings.selection.mode == config::TraceMode::All) log->span_begin = end;  // spans are read in order
  else begin_span(l, *log, end, in_call);
}

void note_thread_end(Location& l) {
  if (!l.events) return;
  if (log_of(l)) {
    if (l.extra) (void)put_readings(l, *l.events, l.end, false);
    append(l, {.kind = Kind::ThreadEnd, .time = l.end});
  }
  if (!is_sample_of_events()) count_dropped(l);
}

void note_flush(Location& l, platform::Ticks begin, platform::Ticks end) {
  if (!log_of(l)) return;
  append(l, {.kind = Kind::Flush, .time = end, .begin = begin});
}

void mend_events(Location& l) {
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

bool is_full_of_events(const Location& l) {
  return l.events && !is_sample_of_events() && l.events->records.size() >= l.events->full &&
         end_of_kept_events(l).size > 0;
}

events::Buffer::Position end_of_kept_events(const Location& l) {
  const auto span = span_in_progress(l);
  const bool is_wanted = !l.events->skips && span && is_wanted_span(*span);
  const bool is_all = event_settings.selection.mode == config::TraceMode::All;
  return is_all || is_wanted ? l.events->records.end() : l.events->kept;
}

void remove_events(Location& l, const events::Buffer::Position& to) {
  EventLog& log = *l.events;
  const Changing whole(log);
  log.kept = log.records.remove(to);
  log.forget_known();
  log.iterations_written = log.iterations_kept;
}

EventCounts counts_of_events(const EventLog& log) {
  if (is_sample_of_events())
    return {log.spans.records(), log.spans.iterations(), log.records.dropped() + log.spans.lost()};
  return {log.records.removed(), log.iterations_written, log.records.dropped()};
}

void end_call_of_events(Location& l, platform::Ticks now) {
  if (!l.stopped) note_call(l, now, false);
}

}  // namespace refrain::measurement
