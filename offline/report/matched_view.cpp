// `refrain events --matched`: messages that were sampled one by one, with both ends.
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "offline/report/columns.hpp"
#include "offline/report/events.hpp"
#include "offline/report/print_tables.hpp"

namespace refrain::report {
namespace {

using trace::MatchedMessage;
using trace::MessageEnd;

constexpr const char* matched_columns =
    "receive_enter_s, receive_leave_s, receive_rank, receive_thread, receive_region, posted_region, send_enter_s, "
    "send_leave_s, send_rank, send_thread, send_region, communicator, tag, message, bytes, receives, late_sender_s, "
    "in_events";

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

Row row_of_message(const trace::Trace& trace, const MatchedMessage& of) {
  Row row;
  const auto add_end = [&](const MessageEnd& end, bool is_receive) {
    const trace::LocationOfTrace& location = trace.locations()[end.location];
    row.cells.insert(row.cells.end(), {seconds(end.enter_ns), seconds(end.leave_ns), std::int64_t{location.rank},
                                       std::int64_t{location.thread}, trace.region_of(end.path)});
    if (is_receive)
      row.cells.push_back(end.posted_path == trace::no_path ? Cell() : Cell(trace.region_of(end.posted_path)));
  };
  add_end(of.receive, true);
  add_end(of.send, false);
  const char* in_events = !of.send.is_sampled ? "send" : !of.receive.is_sampled ? "receive" : "";
  row.cells.insert(row.cells.end(),
                   {name_of_communicator(trace, of.key.communicator), std::int64_t{of.send.tag},
                    static_cast<std::int64_t>(of.key.ordinal), of.send.bytes,
                    of.receive.receives == 0 ? Cell() : Cell(std::int64_t{of.receive.receives}),
                    seconds(of.waiting_ns()), *in_events == 0 ? Cell() : Cell(std::string(in_events))});
  return row;
}

const std::vector<Column> matched_text_columns = {
    {.name = "receive, s", .kind = Kind::Moment, .width = 15}, {.name = "rank", .width = 7},
    {.name = "send, s", .kind = Kind::Moment, .width = 15},    {.name = "rank", .width = 7},
    {.name = "waiting, s", .kind = Kind::Moment, .width = 12}, {.name = "of", .kind = Kind::Words}};

Row text_row_of_message(const trace::Trace& trace, const MatchedMessage& of) {
  const auto place = [&](const MessageEnd& end) {
    const trace::LocationOfTrace& location = trace.locations()[end.location];
    return location.thread == 0 ? fmt::format("{}", location.rank)
                                : fmt::format("{}.{}", location.rank, location.thread);
  };
  return {{seconds(of.receive.enter_ns), place(of.receive), seconds(of.send.enter_ns), place(of.send),
           seconds(of.waiting_ns()),
           fmt::format("{} from {}, tag {} in {}, {} bytes", trace.region_of(of.receive.path),
                       trace.region_of(of.send.path), of.send.tag, name_of_communicator(trace, of.key.communicator),
                       of.send.bytes)}};
}

/// Messages in the order of their receives.
std::vector<MatchedMessage> matched_messages_of(const trace::Trace& trace, const EventOptions& options) {
  trace::MatchedMessages matched(trace);
  if (!matched.is_there()) return {};
  auto reader = trace.read();
  while (const trace::Event* event = reader.next()) matched.add(*event);
  std::vector<MatchedMessage> messages;
  std::ranges::copy_if(matched.pairs(), std::back_inserter(messages), [&](const MatchedMessage& of) {
    const double at = seconds(of.receive.leave_ns);
    return (!options.from_s || at >= *options.from_s) && (!options.to_s || at <= *options.to_s);
  });
  std::ranges::stable_sort(
      messages, {}, [](const MatchedMessage& of) { return std::pair(of.receive.enter_ns, of.receive.location); });
  return messages;
}

}  // namespace

void print_matched_messages(const trace::Trace& trace, const EventOptions& options, const Sink& out) {
  if (trace.archive())
    throw UsageError("--matched: only experiments of Refrain have messages of which both ends were sampled");
  if (options.iteration) throw UsageError("--matched does not go together with --iteration");
  const std::vector<MatchedMessage> messages = matched_messages_of(trace, options);
  const bool is_text = options.format == Format::Text;
  Table table{"messages", is_text ? matched_text_columns : columns(matched_columns), [&](const TakeRow& take) {
                for (const MatchedMessage& of : messages)
                  take(is_text ? text_row_of_message(trace, of) : row_of_message(trace, of));
              }};
  table.empty = trace.level_of_messages()
                    ? "No such messages."
                    : "No messages were sampled one by one: the events of iterations have found room.";
  print_tables({table}, options.format, {}, out);
}

}  // namespace refrain::report
