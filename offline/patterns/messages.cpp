#include "offline/patterns/messages.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace refrain::patterns {

using events::Kind;
using events::Phase;

Search::Messages::Messages(Search& search)
    : search_(search),
      pairing_(trace::pairing_of(
          search.trace_, [this](const trace::MessagePair& of) { pair(of); },
          [this](const trace::MessageEvent& event, bool is_send) { alone(event, is_send); })),
      most_open_(search.limits_.open_requests > 0 ? search.limits_.open_requests
                                                  : trace::most_open_requests(search.trace_.locations().size())) {
  nodes_.emplace_back();
  operations_.emplace_back();
  std::int32_t last = -1;
  for (const trace::LocationOfTrace& of : search.trace_.locations()) last = std::max(last, of.rank);
  flights_.resize(static_cast<std::size_t>(std::int64_t{last} + 2));
  const std::size_t processes = search.distribution_ ? static_cast<std::size_t>(search.distribution_->processes()) : 0;
  remote_event_.type = trace::Type::Communication;
  remote_event_.record.kind = Kind::Send;
  unanswered_.resize(processes);
  for_others_.resize(processes);
}

/// Returns -1 for the own process.
inline int Search::Messages::process_of(std::int32_t rank) const {
  const auto& distribution = search_.distribution_;
  if (!distribution) return -1;
  const int process = distribution->of_rank(rank);
  return process == distribution->process() ? -1 : process;
}

inline std::uint32_t Search::Messages::make_operation() {
  if (free_operations_.empty()) {
    operations_.emplace_back();
    return static_cast<std::uint32_t>(operations_.size() - 1);
  }
  const std::uint32_t at = free_operations_.back();
  free_operations_.pop_back();
  std::construct_at(&operations_[at]);  // in place: an assignment would make a temporary first
  return at;
}

inline void Search::Messages::free_operation(std::uint32_t operation) { free_operations_.push_back(operation); }

inline std::uint32_t Search::Messages::node_of(std::uint32_t& node) {
  if (node != none) return node;
  if (free_nodes_.empty()) {
    nodes_.emplace_back();
    node = static_cast<std::uint32_t>(nodes_.size() - 1);
  } else {
    node = free_nodes_.back();
    free_nodes_.pop_back();
  }
  Node& made = nodes_[node];
  made.is_left = made.has_receiving = made.has_unknown = made.has_crossing = made.is_untold = false;
  made.receives = none;
  made.receives_pending = made.sends_pending = made.sends = 0;
  made.holders = 1;
  made.posted_ns = INT64_MIN;
  made.told_ns = 0;
  return node;
}

/// Freed requests are never completed, and in a sample some are completed after the events that are known.
inline void Search::Messages::forget_unfinished() {
  if (posted_.size() > most_open_ || begun_.size() > most_open_) [[unlikely]]
    forget_older();
}

/// Ranks that are not in the trace share one entry.
inline Search::Messages::Flights& Search::Messages::flights_to(std::int32_t rank) {
  const auto place = static_cast<std::size_t>(std::int64_t{rank} + 1);
  return flights_[rank < 0 || place >= flights_.size() ? 0 : place];
}

/// Like Search::iteration_of(), and 0 if all iterations were kept.
inline std::uint64_t Search::Messages::iteration_of(const trace::Event& event) const {
  if (!search_.counts_.is_sample) return 0;
  return search_.iteration_of(event.location, search_.findings_.span(event.location));
}

inline void Search::Messages::let_go(std::uint32_t node) {
  if (--nodes_[node].holders == 0) free_nodes_.push_back(node);
}

void Search::Messages::add(const trace::Event& event, const Call& call, std::uint32_t& node) {
  const events::Record& r = event.record;
  if (r.kind == Kind::Send) {
    if (r.phase >= Phase::Completed) {
      pairing_.add(event);
      const std::optional<std::uint32_t> begun = begun_.close(search_.trace_.request_of(event));
      if (!begun) {
        if (misses_begins()) nodes_[node_of(node)].has_unknown = true;
        return;
      }
      const std::uint32_t send = *begun;
      Operation& of = operations_[send];
      if (r.phase == Phase::Cancelled) {
        if (const int process = process_of(of.to); process >= 0)
          for_others_[static_cast<std::size_t>(process)].cancelled.push_back({of.sent_ns, of.sender, of.to});
        land(of);
        of.is_completed = true;
        return complete_send(send);
      }
      of.completed = node_of(node);
      Node& by = nodes_[of.completed];
      ++by.holders, ++by.sends_pending, ++by.sends;
      by.has_crossing |= are_apart(of.iteration, iteration_of(event));
      of.is_completed = true;
      return complete_send(send);
    }
    const std::uint32_t send = make_operation();
    Operation& of = operations_[send];
    of.call = node_of(node);
    ++nodes_[of.call].holders;
    of.sender = event.location;
    of.send_path = call.path;
    of.send_enter_ns = call.enter_ns;
    of.sent_ns = event.time_ns;
    of.bytes = r.bytes_sent;
    of.tag = r.tag;
    of.to = pairing_.ends_of(event).other;
    of.iteration = iteration_of(event);
    const int process = process_of(of.to);
    if (process < 0) of.flight = flights_to(of.to).open.add({of.sent_ns, of.sender});
    else unanswered_[static_cast<std::size_t>(process)].add(send);
    if (r.phase == Phase::Whole) {
      of.completed = of.call;
      Node& by = nodes_[of.completed];
      ++by.holders, ++by.sends_pending, ++by.sends;
      of.is_completed = true;
    } else {
      begun_.open(search_.trace_.request_of(event)) = send;
      forget_unfinished();
    }
    if (process < 0) pairing_.add(event, send);
    return;
  }
  if (r.phase == Phase::Begun) {
    Posted& posted = posted_.open(search_.trace_.request_of(event));
    posted.ns = call.enter_ns;
    posted.path = call.path;
    posted.iteration = iteration_of(event);
    forget_unfinished();
    return pairing_.add(event);
  }
  Posted posted{call.enter_ns, call.path, iteration_of(event)};
  bool is_posted_unseen = false;
  if (r.phase >= Phase::Completed) {
    // If the receive was posted before the known events, no call waited for that.
    const std::optional<Posted> begun = posted_.close(search_.trace_.request_of(event));
    is_posted_unseen = !begun && misses_begins();
    posted = begun.value_or(Posted());
  }
  if (r.phase == Phase::Cancelled) return pairing_.add(event);
  const std::uint32_t receive = make_operation();
  Operation& of = operations_[receive];
  of.call = node_of(node);
  Node& by = nodes_[of.call];
  ++by.holders, ++by.receives_pending;
  by.has_receiving = true;
  of.next = by.receives;
  by.receives = receive;
  of.posted_ns = posted.ns;
  of.posted_path = posted.path;
  of.bytes = r.bytes_received;
  of.tag = r.tag;
  of.iteration = iteration_of(event);
  of.is_posted_unseen = is_posted_unseen;
  of.is_posted_before = are_apart(of.iteration, posted.iteration);
  pairing_.add(event, receive);
}

/// The calls that began and completed the send are not known here, so it counts as completed.
void Search::Messages::add(const RemoteSend& send, int from_process) {
  const std::uint32_t made = make_operation();
  Operation& of = operations_[made];
  of.is_completed = true;
  of.sender = send.location;
  of.send_enter_ns = send.enter_ns;
  of.sent_ns = send.time_ns;
  of.bytes = send.bytes;
  of.tag = send.tag;
  of.process = from_process;
  of.number = send.number;
  of.iteration = send.iteration;
  trace::Event& event = remote_event_;
  event.location = send.location;
  event.time_ns = send.time_ns;
  event.record.phase = send.phase;
  event.record.tag = send.tag;
  event.record.communicator = send.communicator;
  event.record.peer = send.peer;
  event.record.bytes_sent = send.bytes;
  event.record.request = send.request;
  event.record.ordinal = send.ordinal;
  event.record.tags_before = send.tags_before;
  of.to = pairing_.ends_of(event).other;
  of.flight = flights_to(of.to).open.add({of.sent_ns, of.sender});
  pairing_.add(event, made);
}

void Search::Messages::take(const Answer& answer, int from_process) {
  const auto send = unanswered_[static_cast<std::size_t>(from_process)].take(answer.number);
  if (!send) return;
  Operation& of = operations_[*send];
  of.is_paired = answer.is_paired;
  of.is_alone = !answer.is_paired;
  of.is_crossing = answer.is_crossing;
  of.is_posted_unseen = answer.is_posted_unseen;
  of.posted_ns = answer.posted_ns;
  of.receiver = answer.receiver;
  complete_send(*send);
}

void Search::Messages::take(const Cancelled& cancelled) {
  flights_to(cancelled.to).land(cancelled.sent_ns, cancelled.sender);
}

/// Answers the process that the send is from.
void Search::Messages::answer(const Operation& send) {
  for_others_[static_cast<std::size_t>(send.process)].answers.push_back(
      {send.number, send.posted_ns, send.receiver, send.is_paired, send.is_crossing, send.is_posted_unseen});
}

void Search::Messages::forget_older() {
  if (posted_.size() > most_open_)
    trace::forget_older_half(
        posted_, [](const auto& receive) { return receive.second.ns; }, [this](const auto&) { ++forgotten_; });
  if (begun_.size() > most_open_)
    trace::forget_older_half(
        begun_, [this](const auto& send) { return operations_[send.second].sent_ns; },
        [this](const auto& send) {
          ++forgotten_;
          operations_[send.second].is_completed = true;
          complete_send(send.second);
        });
}

void Search::Messages::Flights::land(std::int64_t sent_ns, std::uint32_t sender) {
  const auto at = std::ranges::find_if(open.entries(), [&](const auto& of) {
    return !of.is_gone && of.value.sent_ns == sent_ns && of.value.sender == sender;
  });
  if (at != open.entries().end()) (void)open.take(at->number);
}

/// The message has arrived, or its fate is unknown.
void Search::Messages::land(const Operation& send) { (void)flights_to(send.to).open.take(send.flight); }

void Search::Messages::pair(const trace::MessagePair& pair) {
  Operation& send = operations_[pair.send.token];
  Operation& receive = operations_[pair.receive.token];
  send.is_paired = receive.is_paired = true;
  receive.is_crossing = are_apart(send.iteration, receive.iteration);
  send.is_crossing = receive.is_crossing || receive.is_posted_before;
  send.is_posted_unseen = receive.is_posted_unseen;
  send.posted_ns = receive.posted_ns;
  send.posted_path = receive.posted_path;
  send.receiver = pair.receive.location;
  receive.sender = send.sender, receive.send_path = send.send_path;
  receive.send_enter_ns = send.send_enter_ns, receive.sent_ns = send.sent_ns;
  receive.to = send.to, receive.flight = send.flight;
  const std::uint32_t by = receive.call;
  if (nodes_[by].is_left) land(receive);
  if (--nodes_[by].receives_pending == 0 && nodes_[by].is_left) tell_receiving(by);
  complete_send(pair.send.token);
}

void Search::Messages::alone(const trace::MessageEvent& event, bool is_send) {
  Operation& of = operations_[event.token];
  of.is_alone = true;
  if (is_send) {
    land(of);
    return complete_send(event.token);
  }
  const std::uint32_t by = of.call;
  // Some message has arrived, and which one is unknown.
  Flights& flights = flights_to_location(event.location);
  flights.known_since_ns = std::max(flights.known_since_ns, event.time_ns);
  if (--nodes_[by].receives_pending == 0 && nodes_[by].is_left) tell_receiving(by);
}

/// Finishes a send once a call has completed it and its receive is known, or never will be.
void Search::Messages::complete_send(std::uint32_t operation) {
  Operation& of = operations_[operation];
  if (!of.is_completed || !(of.is_paired || of.is_alone)) return;
  if (of.process >= 0) {
    answer(of);
    return free_operation(operation);
  }
  const std::uint32_t by = of.completed, begun = of.call;
  if (by != none) {
    Node& node = nodes_[by];
    node.has_unknown |= of.is_alone || of.is_posted_unseen;
    node.has_crossing |= of.is_crossing;
    // The call did not wait for a receive that was posted after the call was left.
    if (of.is_paired && of.posted_ns > node.posted_ns && (!node.is_left || of.posted_ns < node.call.leave_ns)) {
      node.posted_ns = of.posted_ns;
      node.posted_path = of.posted_path;
      node.receiver = of.receiver;
    }
    if (--node.sends_pending == 0 && node.is_left) tell_sending(by);
    let_go(by);
  }
  let_go(begun);
  free_operation(operation);
}

void Search::Messages::leave(const Call& call, std::uint32_t node) {
  Node& of = nodes_[node];
  of.call = call;
  of.is_left = true;
  // None of the messages that one call completes is older than the others.
  for (std::uint32_t at = of.receives; at != none; at = operations_[at].next)
    if (operations_[at].is_paired) land(operations_[at]);
  if (of.has_receiving && of.receives_pending == 0) tell_receiving(node);
  if ((of.sends > 0 || of.has_unknown) && of.sends_pending == 0) tell_sending(node);
  let_go(node);
}

/// Finds out whether messages to the same rank that are not received yet were sent earlier.
void Search::Messages::find_older(Received& received, std::int32_t to, std::int64_t since_ns) {
  const Flights& flights = flights_to(to);
  if (flights.gaps > 0) return;
  constexpr std::size_t most_looked_at = 1024;
  std::size_t looked_at = 0;
  const auto& all = flights.open.entries();
  const std::int64_t from_ns = std::max(since_ns, flights.known_since_ns);
  auto at = std::ranges::partition_point(all, [&](const auto& entry) { return entry.value.sent_ns < from_ns; });
  for (; at != all.end(); ++at) {
    const auto& [number, flight, is_gone] = *at;
    if (flight.sent_ns >= received.sent_ns || ++looked_at > most_looked_at) break;
    if (is_gone) continue;
    (flight.sender == received.sender ? received.older_of_source : received.older_of_others) = true;
    if (received.older_of_source && received.older_of_others) break;
  }
}

/// Adds the time of a call that depends on messages whose other ends are not known, or are in other iterations of a
/// sample.
void Search::Messages::add_time(std::uint32_t node, bool has_unknown, Quantity unknown, Quantity crossing) {
  Node& of = nodes_[node];
  if (search_.counts_.is_sample) return search_.add(has_unknown ? unknown : crossing, of.call, of.call.time_ns());
  if (has_unknown && !std::exchange(of.is_untold, true)) search_.add_untold(untold_messages, of.call);
}

void Search::Messages::tell_receiving(std::uint32_t node) {
  // Subscribers do not change nodes, so the reference stays valid.
  const Node& of = nodes_[node];
  std::optional<Received> latest;
  bool has_unknown = false, has_crossing = false;
  const std::int64_t since_ns = search_.begin_of_span(of.call.location);
  for (std::uint32_t at = of.receives; at != none; at = operations_[at].next) {
    const Operation& receive = operations_[at];
    has_unknown |= !receive.is_paired;
    has_crossing |= receive.is_crossing;
    if (!receive.is_paired) continue;
    violations_ += receive.send_enter_ns > of.call.leave_ns;
    Received received{of.call,         receive.sender,    receive.send_path, receive.send_enter_ns,
                      receive.sent_ns, receive.posted_ns, receive.bytes,     receive.tag};
    find_older(received, receive.to, since_ns);
    search_.publish(received);
    if (!latest || received.send_enter_ns > latest->send_enter_ns) latest.emplace(received);
  }
  if (latest) {
    const std::int64_t until = std::min(latest->send_enter_ns, of.call.leave_ns);
    const std::int64_t waiting_ns = std::max(until - of.call.enter_ns, std::int64_t{0});
    search_.publish(Receiving{of.call, *latest, waiting_ns, of.told_ns});
    nodes_[node].told_ns = std::max(waiting_ns, of.told_ns);
  }
  if (has_unknown || has_crossing) add_time(node, has_unknown, unknown_receives, crossing_receives);
  std::uint32_t at = of.receives;
  nodes_[node].receives = none;
  while (at != none) {
    const std::uint32_t next = operations_[at].next;
    free_operation(at);
    let_go(node);
    at = next;
  }
}

void Search::Messages::tell_sending(std::uint32_t node) {
  const Node& of = nodes_[node];
  if (of.has_unknown || of.has_crossing) add_time(node, of.has_unknown, unknown_sends, crossing_sends);
  if (of.posted_ns == INT64_MIN) return;
  const bool has_waited = of.posted_ns > of.call.enter_ns && of.posted_ns < of.call.leave_ns;
  const std::int64_t waiting_ns = has_waited ? of.posted_ns - of.call.enter_ns : 0;
  search_.publish(Sending{of.call, of.receiver, of.posted_path, of.posted_ns, waiting_ns, of.told_ns});
  nodes_[node].told_ns = std::max(waiting_ns, of.told_ns);
}

void Search::Messages::begin_gap(std::uint32_t location) { ++flights_to_location(location).gaps; }

void Search::Messages::end_gap(std::uint32_t location, std::int64_t ns) {
  Flights& flights = flights_to_location(location);
  --flights.gaps;
  flights.known_since_ns = std::max(flights.known_since_ns, ns);
}

void Search::Messages::finish() { pairing_.finish(); }

}  // namespace refrain::patterns
