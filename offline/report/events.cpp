#include "offline/report/events.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "format/checksum.hpp"
#include "format/hashing.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/print_tables.hpp"
#include "offline/trace/clock_bounds.hpp"
#include "offline/trace/pairing.hpp"

namespace refrain::report {
namespace {

using trace::Event;
using trace::Trace;
using trace::Type;

struct TimeSpan {
  std::int64_t begin_ns, end_ns;
};

std::string word_of(const Event& event) {
  if (event.type != Type::Communication) return trace::name_of(event.type);
  std::string word = trace::name_of(event.record.kind);
  if (event.record.phase != events::Phase::Whole) word += std::string("_") + trace::name_of(event.record.phase);
  return word;
}

/// The time spans of the wanted iteration, by location.
std::map<std::uint32_t, std::vector<TimeSpan>> windows_of(const Trace& trace, std::int64_t iteration) {
  std::map<std::uint32_t, std::vector<TimeSpan>> windows;
  auto reader = trace.read();
  while (const Event* event = reader.next())
    if (event->type == Type::SpanEnd && event->record.region != 0 && event->record.value == iteration)
      windows[event->location].push_back({trace.time_of(event->location, event->record.begin), event->time_ns});
  if (windows.empty())
    throw UsageError(fmt::format("--iteration {}: no events of it were kept (see refrain report --events)", iteration));
  return windows;
}

std::vector<Column> event_columns() {
  std::vector<Column> all = columns(
      "time_s, rank, thread, event, region, peer, tag, communicator, bytes_sent, bytes_received, request, iteration, "
      "lost, value, message, sent_s, operation, off_cpu_s");
  for (Column& column : all)
    if (column.kind == Kind::Seconds) column.kind = Kind::Moment;
  return all;
}

/// Indices of the cells of event_columns().
struct At {
  enum : std::size_t {
    Time,
    Rank,
    Thread,
    Word,
    Region,
    Peer,
    Tag,
    Communicator,
    BytesSent,
    BytesReceived,
    Request,
    Iteration,
    Lost,
    Value,
    Message,
    SentAt,
    Operation,
    OffCpu,
    Count
  };
};

class EventRows {
 public:
  explicit EventRows(const Trace& trace) : trace_(trace) {}

  /// `sent`: the send of a paired receive, otherwise null.
  Row row(const Event& event, const trace::MessageEvent* sent) const {
    const trace::LocationOfTrace& location = trace_.locations()[event.location];
    Row row{{static_cast<double>(event.time_ns) / 1e9, std::int64_t{location.rank}, std::int64_t{location.thread},
             word_of(event)}};
    row.cells.resize(At::Count);
    if (location.rank < 0) row.cells[At::Rank] = {};
    if (event.type == Type::SpanEnd) row.cells[At::Region] = trace_.loop_of(event);
    else if (event.type <= Type::MarkEnd) row.cells[At::Region] = trace_.region_of(event.path);
    if (event.type == Type::Communication) communication(event.record, location.rank, row);
    if (event.type > Type::ThreadEnd) of_archive(event, row);
    if (event.type == Type::SpanEnd && event.record.region != 0) row.cells[At::Iteration] = event.record.value;
    if (event.type == Type::Gap) row.cells[At::Lost] = event.record.value;
    if (event.type == Type::Leave && !trace_.archive() && event.record.value > 0)
      row.cells[At::OffCpu] = static_cast<double>(event.record.value) / 1e9;
    if (sent) row.cells[At::SentAt] = static_cast<double>(sent->time_ns) / 1e9;
    return row;
  }

 private:
  void communication(const events::Record& r, std::int32_t rank, Row& row) const {
    // The peer as a rank of the job, if it is one.
    const std::int32_t peer = trace_.communicators().rank_of(rank, r.communicator, r.peer);
    const bool is_of_window = events::is_of_window(r.kind);
    if (is_of_window ? r.peer >= 0 : peer >= 0) row.cells[At::Peer] = std::int64_t{is_of_window ? r.peer : peer};
    if ((r.kind == events::Kind::Send || r.kind == events::Kind::Receive) && r.tag >= 0)
      row.cells[At::Tag] = std::int64_t{r.tag};
    if (!is_of_window) communicator(trace_.communicators().index_of(rank, r.communicator), row);
    row.cells[At::BytesSent] = r.bytes_sent;
    row.cells[At::BytesReceived] = r.bytes_received;
    if (r.phase != events::Phase::Whole) row.cells[At::Request] = static_cast<std::int64_t>(r.request);
    if (!trace_.archive() && events::has_number(r.kind, r.phase) && r.ordinal != events::no_ordinal)
      row.cells[events::is_message(r.kind) ? At::Message : At::Operation] = static_cast<std::int64_t>(r.ordinal);
  }

  /// Events that Refrain does not record itself.
  void of_archive(const Event& event, Row& row) const {
    const events::Record& r = event.record;
    const auto name = [&](const std::vector<std::string>& names, std::int64_t place) {
      const bool is_there = place >= 0 && static_cast<std::size_t>(place) < names.size();
      return is_there ? names[static_cast<std::size_t>(place)] : "(unknown)";
    };
    if (event.path != trace::no_path) row.cells[At::Region] = trace_.region_of(event.path);
    switch (event.type) {
      case Type::Metric:
        row.cells[At::Region] = r.node < trace_.metrics().size() ? trace_.metrics()[r.node].name : "(unknown)";
        row.cells[At::Value] = value_of_metric(event);
        return;
      case Type::Parameter:
        row.cells[At::Region] = name(trace_.parameters(), r.node);
        row.cells[At::Value] = r.is_whole ? name(trace_.texts(), r.value) : fmt::format("{}", r.value);
        return;
      case Type::ProgramBegin: row.cells[At::Region] = name(trace_.texts(), r.node); return;
      case Type::ProgramEnd:
      case Type::Fork:
      case Type::LockAcquired:
      case Type::LockReleased: row.cells[At::Value] = fmt::format("{}", r.value); break;
      case Type::TeamBegin:
      case Type::TeamEnd:
      case Type::ThreadCreate:
      case Type::ThreadBegin:
      case Type::ThreadWait:
      case Type::CommunicatorMade:
      case Type::CommunicatorFreed: communicator(r.communicator, row); break;
      case Type::WindowCollective:
        row.cells[At::BytesSent] = r.bytes_sent, row.cells[At::BytesReceived] = r.bytes_received;
        [[fallthrough]];
      case Type::WindowSync:
      case Type::WindowLockRequested:
      case Type::WindowLocked:
      case Type::WindowUnlocked:
        if (r.peer >= 0) row.cells[At::Peer] = std::int64_t{r.peer};
        break;
      default: break;
    }
    const bool has_number = event.type == Type::RequestTest ||
                            (event.type >= Type::ThreadCreate && event.type <= Type::TaskComplete) ||
                            event.type >= Type::WindowLockRequested;
    if (has_number) row.cells[At::Request] = static_cast<std::int64_t>(r.request);
  }

  std::string value_of_metric(const Event& event) const {
    const auto value = event.record.value;
    if (event.record.node >= trace_.metrics().size()) return fmt::format("{}", value);
    switch (trace_.metrics()[event.record.node].type) {
      case trace::MetricOfTrace::Real: return fmt::format("{}", trace_.value_of(event));
      case trace::MetricOfTrace::Unsigned: return fmt::format("{}", static_cast<std::uint64_t>(value));
      case trace::MetricOfTrace::Signed: break;
    }
    return fmt::format("{}", value);
  }

  void communicator(std::int32_t index, Row& row) const {
    if (index < 0) return;
    row.cells[At::Communicator] = name_of_communicator(trace_, index);
  }

  const Trace& trace_;
};

void for_each_event(const Trace& trace, const EventOptions& options,
                    const std::function<void(const Event&, const trace::MessageEvent* sent)>& use) {
  std::map<std::uint32_t, std::vector<TimeSpan>> windows;
  if (options.iteration) windows = windows_of(trace, *options.iteration);
  const auto nanoseconds = [](double seconds) { return std::llround(std::clamp(seconds, -1e9, 1e9) * 1e9); };
  if (options.from_s && options.to_s && *options.from_s >= *options.to_s)
    throw UsageError(fmt::format("--from {}: must be before --to {}", *options.from_s, *options.to_s));
  const std::int64_t from = options.from_s ? nanoseconds(*options.from_s) : Trace::from_begin;
  const std::int64_t to = options.to_s ? nanoseconds(*options.to_s) : std::numeric_limits<std::int64_t>::max();
  const auto wanted = [&](const Event& event) {
    if (!options.iteration) return true;
    const auto of = windows.find(event.location);
    return of != windows.end() && std::ranges::any_of(of->second, [&](const TimeSpan& window) {
             const bool is_after = window.begin_ns < event.time_ns || event.type != Type::SpanEnd;
             return is_after && window.begin_ns <= event.time_ns && event.time_ns <= window.end_ns;
           });
  };
  auto reader = trace.read({}, from);
  trace::Pairing pairing = trace::pairing_of(trace);
  while (const Event* event = reader.next()) {
    if (event->time_ns > to) return;
    pairing.add(*event);
    if (wanted(*event)) use(*event, pairing.sent());
  }
}

/// Text joins the region of an event and the cells behind it in one column.
const std::vector<Column> text_columns = {{.name = "time, s", .kind = Kind::Moment, .width = 15},
                                          {.name = "rank", .width = 7},
                                          {.name = "event", .align = Align::Left, .width = 20},
                                          {.name = "of", .kind = Kind::Words}};

Row as_text(const Row& row) {
  const auto number = [&](std::size_t cell) { return std::get<std::int64_t>(row.cells[cell]); };
  const auto has = [&](std::size_t cell) { return !std::holds_alternative<std::monostate>(row.cells[cell]); };
  const auto text = [&](std::size_t cell) {
    return has(cell) ? std::get<std::string>(row.cells[cell]) : std::string();
  };
  const std::string rank = has(At::Rank) ? fmt::format("{}", number(At::Rank)) : "-";
  std::string of = text(At::Region);
  if (has(At::Peer)) of += fmt::format("  rank {}", number(At::Peer));
  if (has(At::Tag)) of += fmt::format("  tag {}", number(At::Tag));
  if (has(At::Communicator)) of += "  in " + text(At::Communicator);
  if (has(At::BytesSent) && number(At::BytesSent) != 0) of += fmt::format("  {} bytes sent", number(At::BytesSent));
  if (has(At::BytesReceived) && number(At::BytesReceived) != 0)
    of += fmt::format("  {} bytes received", number(At::BytesReceived));
  if (has(At::Request)) of += fmt::format("  request {}", number(At::Request));
  if (has(At::Iteration)) of += fmt::format("  iteration {}", number(At::Iteration));
  if (has(At::Lost)) of += fmt::format("  {} records lost", number(At::Lost));
  if (has(At::Value)) of += "  value " + text(At::Value);
  if (has(At::SentAt)) of += fmt::format("  sent at {:.9f}", std::get<double>(row.cells[At::SentAt]));
  if (has(At::OffCpu)) of += fmt::format("  off the CPU for {:.9f}", std::get<double>(row.cells[At::OffCpu]));
  return {{row.cells[At::Time], number(At::Thread) == 0 ? rank : fmt::format("{}.{}", rank, number(At::Thread)),
           text(At::Word), of}};
}

}  // namespace

std::string name_of_communicator(const Trace& trace, std::int32_t index) {
  const std::string& name = trace.communicators().all()[static_cast<std::size_t>(index)].name;
  return name.empty() ? fmt::format("communicator {}", index) : name;
}

void print_events(const Trace& trace, const EventOptions& options, const Sink& out) {
  const EventRows rows(trace);
  const bool is_text = options.format == Format::Text;
  const Table table{"events", is_text ? text_columns : event_columns(), [&](const TakeRow& take) {
                      for_each_event(trace, options, [&](const Event& event, const trace::MessageEvent* sent) {
                        const Row row = rows.row(event, sent);
                        take(is_text ? as_text(row) : row);
                      });
                    }};
  print_tables({table}, options.format, {}, out);
}

namespace {

void count_span(const Trace& trace, const Event& span, KeptIterations& kept) {
  if (span.record.region == 0 || (span.record.region == events::stretches && !trace.has_stretches())) return;
  const std::string loop = trace.loop_of(span);  // numbers of loops differ from rank to rank
  if (!trace.is_sampled(loop, span.record.value)) {
    kept.slow += trace.slowest().contains({loop, span.record.value});
    return;
  }
  ++kept.count;
  kept.hash = format::mixed(kept.hash ^ format::mixed(static_cast<std::uint64_t>(span.record.value)) ^
                            format::checksum(loop.data(), loop.size()));
}

}  // namespace

KeptOfTrace count_kept(const Trace& trace) {
  std::map<std::int32_t, KeptIterations> of_rank;
  KeptOfTrace result;
  trace::ClockBounds bounds(trace, [&](const trace::ClockBound& of) { result.clock_violations += !of.holds(); });
  trace::MatchedMessages matched(trace);
  auto reader = trace.read();
  while (const Event* event = reader.next()) {
    bounds.add(*event);
    matched.add(*event);
    const trace::LocationOfTrace& location = trace.locations()[event->location];
    if (event->type == Type::SpanEnd && location.thread == 0) count_span(trace, *event, of_rank[location.rank]);
  }
  bounds.finish();
  result.messages = bounds.messages();
  if (matched.is_there())
    result.matched = {matched.level(),
                      matched.ends(),
                      matched.pairs().size(),
                      matched.alone(),
                      matched.lost(),
                      matched.begin_ns(),
                      trace::late_senders(matched.pairs(), matched.level())};
  for (const trace::RankOfTrace& rank : trace.ranks()) result.iterations.push_back(of_rank[rank.rank]);
  return result;
}

}  // namespace refrain::report
