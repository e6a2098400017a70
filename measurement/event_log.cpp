#include "measurement/event_log.hpp"

#include "measurement/consumers.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::measurement {

constinit EventSettings event_settings{};
std::atomic<bool> events_have_ended{false};

namespace {

using events::Kind;
using events::Record;

static_assert(static_cast<int>(Kind::Send) == static_cast<int>(Communication::Kind::Send) + 1 &&
              static_cast<int>(Kind::Generalized) == static_cast<int>(Communication::Kind::Generalized) + 1);
static_assert(static_cast<int>(events::Phase::Cancelled) == static_cast<int>(Communication::Phase::Cancelled));

/// null: nothing is to be kept.
EventLog* log_of(Location& l) { return events_have_ended.load(std::memory_order_relaxed) ? nullptr : l.events; }

void append(Location& l, const Record& record) {
  if (!l.events->records.append(record)) l.count_loss(Loss::EventsLost);
}

void on_call(Location& l, const CallRecord& call) {
  EventLog* log = log_of(l);
  if (!log) return;
  if (!log->records.append(events::CallRecord{call.is_whole, call.time == ClassOfTime::Io,
                                              static_cast<std::uint16_t>(call.region),
                                              static_cast<std::uint32_t>(call.node), call.begin, call.end}))
    l.count_loss(Loss::EventsLost);
  // Looked at when the call has ended: there files can be written.
  if (log->records.size() >= log->full && events_are_full(l)) [[unlikely]]
    snapshot_due.store(0, std::memory_order_relaxed);
}

void on_communication(Location& l, const Communication& c) {
  EventLog* log = log_of(l);
  if (!log) return;
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
  append(l, r);
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

void on_cut(Location& l, const CutRecord& cut) {
  EventLog* log = log_of(l);
  if (!log) return;
  const bool is_iteration = cut.of != outside_of_iterations;
  const auto number = static_cast<std::int64_t>(iteration_of_span(cut.of));
  if (is_iteration && !event_settings.selection.has(number)) {
    log->records.rewind(log->kept);
  } else {
    Record r;
    r.kind = Kind::Span;
    r.region = static_cast<std::uint16_t>(loop_of_span(cut.of));
    r.value = is_iteration ? number : 0;
    r.begin = log->span_begin;
    r.time = cut.end;
    append(l, r);
    log->kept = log->records.end();
    log->iterations_kept += is_iteration;
  }
  log->span_begin = cut.end;
}

void on_thread_end(Location& l) {
  EventLog* log = log_of(l);
  if (!log) return;
  Record r;
  r.kind = Kind::ThreadEnd;
  r.time = l.end;
  append(l, r);
}

}  // namespace

constinit const Consumer event_consumer = {on_call, on_communication, on_sample, on_mark,
                                           on_cut,  on_thread_end,    nullptr};

namespace {

/// Where everything is kept, a span in progress is, too.
bool keeps_everything() { return event_settings.selection.mode == config::TraceMode::All; }

}  // namespace

bool events_are_full(const Location& l) {
  return l.events && l.events->records.size() >= l.events->full && end_of_kept_events(l).size > 0;
}

events::Buffer::Place end_of_kept_events(const Location& l) {
  return keeps_everything() ? l.events->records.end() : l.events->kept;
}

void remove_events(Location& l, const events::Buffer::Place& to, platform::Ticks begin, platform::Ticks end) {
  EventLog& log = *l.events;
  const bool is_all = log.records.end().size == to.size;
  log.kept = log.records.remove(to);
  log.iterations_written = log.iterations_kept;
  if (!is_all) return;  // the span in progress may be forgotten, and this with it
  Record r;
  r.kind = Kind::Flush;
  r.begin = begin;
  r.time = end;
  log.records.append(r);
  log.kept = log.records.end();
}

}  // namespace refrain::measurement
