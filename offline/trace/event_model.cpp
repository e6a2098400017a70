#include "offline/trace/event_model.hpp"

#include <algorithm>
#include <stdexcept>

#include "offline/trace/open_requests.hpp"

namespace refrain::trace {

using events::Kind;
using events::Phase;

namespace {

constexpr std::size_t most_bookmarks = 512, most_bytes_of_bookmarks = std::size_t{1} << 26;

std::uint32_t token_of(Position position) { return static_cast<std::uint32_t>(position); }

/// The last position up to `now` with this token.
Position position_of(std::uint32_t token, Position now) {
  return now - static_cast<std::uint32_t>(token_of(now) - token);
}

/// For an item of a map by request or token.
constexpr auto position_of_request = [](const auto& item) { return item.second; };

bool is_completed_receive(const Event& event) {
  return event.type == Type::Communication && event.record.kind == Kind::Receive &&
         events::has_number(event.record.kind, event.record.phase);
}

}  // namespace

EventModel::EventModel(std::shared_ptr<const Trace> trace)
    : trace_(std::move(trace)), most_open_(most_open_requests(trace_->locations().size())) {
  constexpr Position least_between = 4096;
  between_bookmarks_ = least_between;
  bookmarks_.push_back({0, Trace::from_begin, first_state(), 0});
  front_ = std::make_unique<Cursor>(Cursor{trace_->read(), bookmarks_[0].state, 0, false, {}, 0});
}

EventModel::~EventModel() = default;

EventModel::State EventModel::first_state() {
  return {std::vector<std::vector<Call>>(trace_->locations().size()),
          pairing_of(
              *trace_, [this](const MessagePair& pair) { paired_.push_back(pair); },
              [this](const MessageEvent& event, bool is_send) { alone_.emplace_back(event, is_send); }),
          {},
          {},
          {},
          {},
          {}};
}

Position EventModel::size() {
  while (advance(*front_)) {
  }
  return front_->next;
}

const LinkedEvent* EventModel::event(Position position) {
  Cursor* cursor = cursor_with(position);
  if (!cursor) return nullptr;
  if (is_completed_receive(cursor->at(position).event)) {
    const Position last = position + most_ahead;
    while (cursor->state.unsure.contains(token_of(position)) && cursor->next <= last && advance(*cursor)) {
    }
  }
  return &cursor->at(position);
}

std::vector<Position> EventModel::stack(Position position, std::uint32_t location) {
  const State& state = state_at(position);
  if (location >= state.stacks.size()) throw std::out_of_range("there is no such location");
  std::vector<Position> positions;
  for (const Call& call : state.stacks[location]) positions.push_back(call.enter);
  return positions;
}

std::vector<Position> EventModel::queue(Position position, std::optional<std::int32_t> from,
                                        std::optional<std::int32_t> to) {
  const State& state = state_at(position);
  std::vector<Position> positions, unsure;
  for (const auto& [send, flight] : state.flights)
    if ((!from || flight.from == *from) && (!to || flight.to == *to)) positions.push_back(send);
  // Without numbers, the send of a receive is known only when all receives posted before it are completed.
  if (trace_->archive())
    for (const auto& [token, receive] : state.unsure) unsure.push_back(receive);
  for (const Position receive : unsure)
    if (const LinkedEvent* of = event(receive); of && of->send != no_position) std::erase(positions, of->send);
  return positions;
}

std::vector<Position> EventModel::collective(Position position) {
  const auto communicator_of = [this](const Event& event) {
    return trace_->communicators().index_of(trace_->locations()[event.location].rank, event.record.communicator);
  };
  const LinkedEvent* asked = event(position);
  if (asked && asked->begin != no_position) asked = event(asked->begin);
  if (!asked || asked->operation == events::no_ordinal) return {};
  const std::uint64_t operation = asked->operation;
  const std::int32_t communicator = communicator_of(asked->event);
  if (communicator < 0) return {};
  const CommunicatorOfTrace& of = trace_->communicators().all()[static_cast<std::size_t>(communicator)];
  const auto processes = static_cast<std::size_t>(std::max(of.size, 1) + of.remote_size);
  const Position middle = asked->position;
  std::vector<Position> found;
  for (Position at = middle - std::min(middle, most_ahead); at <= middle + most_ahead && found.size() < processes;
       ++at) {
    Cursor* cursor = cursor_with(at);
    if (!cursor) break;
    const LinkedEvent& other = cursor->at(at);
    if (other.operation == operation && other.event.record.phase <= Phase::Begun &&
        communicator_of(other.event) == communicator)
      found.push_back(at);
  }
  return found;
}

Position EventModel::first_enter(std::uint32_t path) const {
  const auto at = first_enter_.find(path);
  return at == first_enter_.end() ? no_position : at->second;
}

LinkedEvent& EventModel::Cursor::add() {
  const std::size_t place = next % most_in_window;
  if (place >= window.size()) window.resize(std::min(2 * place + 64, most_in_window));
  if (next - first == most_in_window) ++first;
  window[place] = {};
  window[place].position = next++;
  return window[place];
}

bool EventModel::advance(Cursor& cursor) {
  if (cursor.is_at_end) return false;
  const Event* event = cursor.reader.next();
  if (!event) {
    cursor.is_at_end = true;
    return false;
  }
  if (&cursor == front_.get()) keep_bookmark(*event);
  constexpr Position between_checks = 1 << 16;
  if (check_ && cursor.next % between_checks == 0) check_();
  LinkedEvent& linked = cursor.add();
  linked.event = *event;
  link(cursor, linked);
  return true;
}

/// A reader that starts at a time returns all events of that time, so the event must be the first one of its time.
void EventModel::keep_bookmark(const Event& event) {
  const bool is_later = event.time_ns > last_time_ns_;
  last_time_ns_ = event.time_ns;
  if (!is_later || front_->next < bookmarks_.back().position + between_bookmarks_) return;
  const std::size_t bytes = front_->state.bytes();
  while (bookmarks_.size() > 1 &&
         (bookmarks_.size() == most_bookmarks || bytes_of_bookmarks_ + bytes > most_bytes_of_bookmarks))
    thin_out_bookmarks();
  if (front_->next < bookmarks_.back().position + between_bookmarks_) return;
  bookmarks_.push_back({front_->next, event.time_ns, front_->state, bytes});
  bytes_of_bookmarks_ += bytes;
}

/// Drops every second bookmark; the first one stays.
void EventModel::thin_out_bookmarks() {
  std::vector<Bookmark> kept;
  bytes_of_bookmarks_ = 0;
  for (std::size_t i = 0; i < bookmarks_.size(); i += 2) {
    bytes_of_bookmarks_ += bookmarks_[i].bytes;
    kept.push_back(std::move(bookmarks_[i]));
  }
  bookmarks_ = std::move(kept);
  between_bookmarks_ *= 2;
}

std::size_t EventModel::State::bytes() const {
  constexpr std::size_t of_node = 64;  // node of a hash table or tree
  const std::size_t nodes = flights.size() + begun.size() + unsure.size() + operations.size() + uncounted.size();
  std::size_t all = pairing.bytes() + nodes * of_node;
  for (const std::vector<Call>& stack : stacks) all += sizeof(stack) + stack.size() * sizeof(Call);
  return all;
}

void EventModel::link(Cursor& cursor, LinkedEvent& linked) {
  const Event& event = linked.event;
  std::vector<Call>& stack = cursor.state.stacks[event.location];
  linked.enter = stack.empty() ? no_position : stack.back().enter;
  switch (event.type) {
    case Type::Enter:
      if (&cursor == front_.get()) first_enter_.try_emplace(event.path, linked.position);
      stack.push_back({linked.position, event.path});
      return;
    case Type::Leave: {
      // After a gap, calls may end whose begin was not seen, and others have no end.
      const auto at = std::ranges::find(stack.rbegin(), stack.rend(), event.path, &Call::path);
      linked.enter = at == stack.rend() ? no_position : at->enter;
      if (at != stack.rend()) stack.erase(std::prev(at.base()), stack.end());
      return;
    }
    case Type::Gap:
      // An experiment has only whole calls.
      if (!trace_->archive()) return;
      stack.clear();
      cursor.state.uncounted.insert(event.location);
      return;
    case Type::Communication: return link_communication(cursor, linked);
    default: return;
  }
}

void EventModel::link_communication(Cursor& cursor, LinkedEvent& linked) {
  const Event& event = linked.event;
  State& state = cursor.state;
  if (event.record.kind == Kind::Collective) number_operation(state, linked);
  if (event.record.phase != Phase::Whole) {
    const std::uint64_t request = trace_->request_of(event);
    if (event.record.phase == Phase::Begun) {
      if (state.begun.size() >= most_open_) forget_older_half(state.begun, position_of_request, [](const auto&) {});
      state.begun[request] = linked.position;
    } else if (const auto at = state.begun.find(request); at != state.begun.end()) {
      linked.begin = at->second;
      state.begun.erase(at);
      if (event.record.phase == Phase::Cancelled && event.record.kind == Kind::Send) state.flights.erase(linked.begin);
    }
  }
  if (!events::is_message(event.record.kind)) return;
  const bool has_number = events::has_number(event.record.kind, event.record.phase);
  if (has_number && event.record.kind == Kind::Send) {
    const ChannelEnds& ends = state.pairing.ends_of(event);
    state.flights[linked.position] = {ends.own, ends.other};
  } else if (has_number) {
    if (state.unsure.size() >= most_open_) forget_older_half(state.unsure, position_of_request, [](const auto&) {});
    state.unsure[token_of(linked.position)] = linked.position;
  }
  state.pairing.add(event, token_of(linked.position));
  if (!paired_.empty() || !alone_.empty()) settle(cursor);
}

void EventModel::number_operation(State& state, LinkedEvent& linked) const {
  const Event& event = linked.event;
  if (!trace_->archive()) {
    linked.operation = event.record.ordinal;
    return;
  }
  // The communicator of a non-blocking operation becomes known on completion, and others may come before.
  if (event.record.phase != Phase::Whole) state.uncounted.insert(event.location);
  if (state.uncounted.contains(event.location)) return;
  const std::int32_t rank = trace_->locations()[event.location].rank;
  const std::int32_t communicator = trace_->communicators().index_of(rank, event.record.communicator);
  if (communicator >= 0) linked.operation = state.operations[{event.location, communicator}]++;
}

/// Applies what Pairing reported about this and earlier messages.
void EventModel::settle(Cursor& cursor) {
  State& state = cursor.state;
  const Position now = cursor.next - 1;
  for (const MessagePair& pair : paired_) {
    const Position send = position_of(pair.send.token, now), receive = position_of(pair.receive.token, now);
    state.flights.erase(send);
    state.unsure.erase(pair.receive.token);
    // If clocks contradict each other, the send may come later.
    if (send < receive && now - receive <= most_ahead && cursor.has(receive)) cursor.at(receive).send = send;
  }
  for (const auto& [event, is_send] : alone_) {
    if (is_send) state.flights.erase(position_of(event.token, now));
    else state.unsure.erase(event.token);
  }
  paired_.clear();
  alone_.clear();
}

void EventModel::read_to(Cursor& cursor, Position position) {
  while (cursor.next <= position && advance(cursor)) {
  }
}

EventModel::Cursor& EventModel::go_back(std::unique_ptr<Cursor>& cursor, Position position) {
  const auto behind = std::ranges::upper_bound(bookmarks_, position, {}, &Bookmark::position);
  const Bookmark& bookmark = *std::prev(behind);
  // Reading on is as good as starting at the bookmark, unless that is nearer.
  if (!cursor || cursor->is_at_end || cursor->next > position || cursor->next < bookmark.position) {
    // An archive knows call paths and requests only as far as it was read.
    const auto start = trace_->archive() ? Trace::Start::FromBegin : Trace::Start::Jump;
    cursor = std::make_unique<Cursor>(Cursor{
        trace_->read({}, bookmark.time_ns, start), bookmark.state, bookmark.position, false, {}, bookmark.position});
  }
  read_to(*cursor, position);
  return *cursor;
}

EventModel::Cursor* EventModel::cursor_with(Position position) {
  read_to(*front_, position);
  if (front_->next <= position) return nullptr;
  if (front_->has(position)) return front_.get();
  if (back_ && back_->has(position)) return back_.get();
  Cursor& back = go_back(back_, position);
  return back.has(position) ? &back : nullptr;
}

const EventModel::State& EventModel::state_at(Position position) {
  read_to(*front_, position);
  if (front_->next <= position) throw std::out_of_range("there is no such event");
  if (front_->next == position + 1) return front_->state;
  if (state_ && state_->next == position + 1) return state_->state;
  return go_back(state_, position).state;
}

}  // namespace refrain::trace
