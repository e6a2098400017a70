#include "offline/trace/matched_messages.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "format/kept_iterations.hpp"

namespace refrain::trace {

using events::Kind;

namespace {

/// The messages that one call completed.
struct Completed {
  std::int64_t longest_ns = 0, sum_ns = 0;
  std::uint64_t messages = 0;
  std::uint64_t ordinal = 0;
  bool has_one_ordinal = true;
};

void add_to(Completed& call, const MatchedMessage& message) {
  const std::int64_t waiting = message.waiting_ns();
  call.longest_ns = std::max(call.longest_ns, waiting);
  call.sum_ns += waiting;
  if (call.messages++ == 0) call.ordinal = message.key.ordinal;
  call.has_one_ordinal &= call.ordinal == message.key.ordinal;
}

}  // namespace

LateSenders late_senders(std::span<const MatchedMessage> messages, unsigned level) {
  using Call = std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::uint32_t>;
  std::map<Call, Completed> calls;
  for (const MatchedMessage& of : messages)
    add_to(calls[{of.receive.location, of.receive.enter_ns, of.receive.leave_ns, of.receive.receives}], of);
  LateSenders all;
  for (const auto& [call, completed] : calls) {
    const std::uint32_t receives = std::get<3>(call);
    // Messages with one number are kept together or not at all; those with several numbers are complete more rarely.
    if (completed.messages == receives && (level == 0 || completed.has_one_ordinal)) {
      all.least_ns += static_cast<double>(completed.longest_ns);
      all.most_ns += static_cast<double>(completed.longest_ns);
    } else {
      if (receives > 0) all.least_ns += static_cast<double>(completed.sum_ns) / receives;
      all.most_ns += static_cast<double>(completed.sum_ns);
    }
  }
  const auto weight = static_cast<double>(std::uint64_t{1} << level);
  return {all.least_ns * weight, all.most_ns * weight};
}

MatchedMessages::MatchedMessages(const Trace& trace, std::optional<unsigned> as_level)
    : trace_(trace),
      is_of_events_(as_level.has_value()),
      level_(as_level ? as_level : trace.level_of_messages()),
      calls_(trace.locations().size()) {
  if (!level_ || is_of_events_) return;
  begin_ns_ = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t location = 0; location < trace.locations().size(); ++location) {
    const experiment::MessageSample* sample = trace.sampled_messages(location);
    if (!sample) continue;
    lost_ += sample->lost;
    if (sample->begin_time != 0) begin_ns_ = std::min(begin_ns_, trace.time_of(location, sample->begin_time));
    for (const events::SampledMessage& message : sample->messages)
      if (format::KeptIterations{.level = *level_}.has(message.number.ordinal)) add_sampled(location, message);
  }
  if (begin_ns_ == std::numeric_limits<std::int64_t>::max()) begin_ns_ = trace.end_ns();
}

/// Negative ranks: not known.
MessageKey MatchedMessages::key_of(std::uint32_t location, const events::Record& message) const {
  const Communicators& communicators = trace_.communicators();
  const std::int32_t own = trace_.locations()[location].rank;
  const std::int32_t other = communicators.rank_of(own, message.communicator, message.peer);
  const bool is_send = message.kind == Kind::Send;
  return {communicators.index_of(own, message.communicator), is_send ? own : other, is_send ? other : own,
          static_cast<std::int32_t>(events::tag_bucket(message.tag)), message.ordinal};
}

void MatchedMessages::add_sampled(std::uint32_t location, const events::SampledMessage& message) {
  ++ends_;
  events::Record record;
  record.kind = message.is_receive ? Kind::Receive : Kind::Send;
  record.communicator = message.communicator;
  record.peer = message.peer;
  record.tag = message.tag;
  record.ordinal = message.number.ordinal;
  const std::int32_t thread = trace_.locations()[location].thread;
  MessageEnd end{.location = location,
                 .enter_ns = trace_.time_of(location, message.begin),
                 .leave_ns = trace_.time_of(location, message.end),
                 .path = trace_.path_of(location, thread, message.node),
                 .tags_before = message.number.tags_before,
                 .tag = message.tag,
                 .bytes = message.bytes};
  if (message.is_completed) end.posted_path = trace_.path_of(location, message.begun_thread, message.begun_node);
  end.receives = message.receives;
  const MessageKey key = key_of(location, record);
  if (key.communicator < 0 || key.from < 0 || key.to < 0) ++alone_;
  else match(key, !message.is_receive, end);
}

/// A sampled end waits for the other one.
void MatchedMessages::match(const MessageKey& key, bool is_send, const MessageEnd& end) {
  const auto [at, is_new] = waiting_.try_emplace(key, Waiting{is_send, end});
  if (is_new) return;
  const Waiting other = at->second;
  if (other.is_send == is_send) {  // the same number twice
    ++alone_;
    return;
  }
  waiting_.erase(at);
  const MatchedMessage pair = is_send ? MatchedMessage{key, end, other.end} : MatchedMessage{key, other.end, end};
  // Some operations do not report how much they received.
  const bool same_bytes = pair.receive.bytes == 0 || pair.send.bytes == pair.receive.bytes;
  if (other.end.tags_before == end.tags_before && other.end.tag == end.tag && same_bytes) pairs_.push_back(pair);
  else alone_ += end.is_sampled ? 2 : 1;
}

void MatchedMessages::add(const Event& event) {
  if (!level_) return;
  std::vector<OpenCall>& calls = calls_[event.location];
  if (event.type == Type::Enter) calls.push_back({event.time_ns});
  if (calls.empty()) return;
  if (event.type == Type::Communication && events::is_message(event.record.kind)) add_message(event, calls.back());
  if (event.type != Type::Leave) return;
  end_call(event, calls.back());
  calls.pop_back();
}

void MatchedMessages::add_message(const Event& event, OpenCall& call) {
  const events::Record& r = event.record;
  if (!events::has_number(r.kind, r.phase)) return;
  const bool is_send = r.kind == Kind::Send;
  call.receives += !is_send;
  if (r.ordinal == events::no_ordinal) return;
  if (is_of_events_ ? !format::KeptIterations{.level = *level_}.has(r.ordinal) : waiting_.empty()) return;
  const MessageKey key = key_of(event.location, r);
  if (is_of_events_) {
    if (key.communicator < 0 || key.from < 0 || key.to < 0) return;
    ++ends_;
  } else if (const auto at = waiting_.find(key); at == waiting_.end() || at->second.is_send == is_send) {
    return;
  }
  MessageEnd end{.location = event.location,
                 .enter_ns = call.enter_ns,
                 .path = event.path,
                 .tags_before = r.tags_before,
                 .tag = r.tag,
                 .bytes = is_send ? r.bytes_sent : r.bytes_received,
                 .is_sampled = is_of_events_};
  if (!is_send && r.phase == events::Phase::Completed)
    end.posted_path = trace_.path_of(event.location, r.begun_thread, r.begun_node);
  call.ends.push_back({key, is_send, end});
}

void MatchedMessages::end_call(const Event& event, OpenCall& call) {
  for (EndOfCall& of : call.ends) {
    of.end.leave_ns = event.time_ns;
    if (!of.is_send) of.end.receives = call.receives;
    // Another event may have become the other end meanwhile.
    if (!is_of_events_ && !waiting_.contains(of.key)) continue;
    match(of.key, of.is_send, of.end);
  }
}

}  // namespace refrain::trace
