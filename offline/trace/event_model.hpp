#pragma once
/// The event model of EARL (Wolf, Mohr: EARL, A Programmable and Extensible Toolkit for Analyzing Event Traces of
/// Message Passing Programs): events are numbered in chronological order over all locations, can be visited in any
/// order, and have links to other events; after each of them the trace has a state.
///
/// Links point back in the trace: to the Enter of the call in which an event happened, to the send of a message, to the
/// event that began an operation. Messages are paired as everywhere (pairing.hpp).
///
/// Memory: two windows of the 65,536 most recently visited events; what is in flight; and states of the trace at up to
/// 512 positions, fewer where states are large: 64 MiB in all. Events far back are read again from the nearest of these
/// states. In an archive, going back far means reading from the start.
///
/// Belongs to one thread.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "offline/trace/pairing.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::trace {

/// Index of an event in the trace, from 0.
using Position = std::uint64_t;
inline constexpr Position no_position = ~Position{0};

struct LinkedEvent {
  Event event;
  Position position = no_position;
  /// The Enter of the call in which the event happened; for a Leave, of the call that ends; for an Enter, of the call
  /// around it.
  Position enter = no_position;
  /// For a completed receive: the send of its message. no_position: the send does not precede the receive, is not
  /// known, or becomes known more than `most_ahead` events later (in an archive, while a receive posted before is
  /// open).
  Position send = no_position;
  Position begin = no_position;  ///< for a completion or cancellation: the event that began it
  /// For a collective operation: its number on its communicator, from 0. In an archive operations are counted, from the
  /// start of the trace to the location's first gap or first non-blocking collective operation.
  std::uint64_t operation = events::no_ordinal;
};

class EventModel {
 public:
  explicit EventModel(std::shared_ptr<const Trace> trace);
  EventModel(const EventModel&) = delete;
  EventModel& operator=(const EventModel&) = delete;
  ~EventModel();

  static constexpr Position most_ahead = 16384;

  const Trace& trace() const { return *trace_; }
  /// `check` is called now and then while many events are read; it may throw.
  void check_while_reading(std::function<void()> check) { check_ = std::move(check); }
  /// Number of events. Reads all of them, once.
  Position size();
  /// Null: there is no such event. Valid until the next call of any member.
  const LinkedEvent* event(Position position);

  // The state after an event. These throw std::out_of_range where there is none.

  /// The Enter events of the calls that are open on a location, outermost first.
  std::vector<Position> stack(Position position, std::uint32_t location);
  /// The sends of the messages in flight, in order; `from` and `to` are ranks of the job, nothing: all. A message that
  /// is never received is in flight until that is known, or for ever; so is one whose receive has no link.
  std::vector<Position> queue(Position position, std::optional<std::int32_t> from = std::nullopt,
                              std::optional<std::int32_t> to = std::nullopt);

  /// The events in which processes began the collective operation that the event belongs to, as far as they are at most
  /// `most_ahead` events away. Empty: it belongs to no collective operation, or it is not known to which.
  std::vector<Position> collective(Position position);

  /// The first Enter of a call path, at or before any event of it; no_position: none was read so far.
  Position first_enter(std::uint32_t path) const;

 private:
  struct Call {
    Position enter;
    std::uint32_t path;
  };
  struct Flight {
    std::int32_t from, to;
  };
  /// What is known after an event.
  struct State {
    std::vector<std::vector<Call>> stacks;  ///< by location
    Pairing pairing;
    std::map<Position, Flight> flights;                  ///< messages in flight, by send
    std::unordered_map<std::uint64_t, Position> begun;   ///< by request
    std::unordered_map<std::uint32_t, Position> unsure;  ///< receives whose send may still become known, by token
    /// For archives: number of collective operations so far, by location and communicator.
    std::map<std::pair<std::uint32_t, std::int32_t>, std::uint64_t> operations;
    std::set<std::uint32_t> uncounted;  ///< for archives: locations whose operations cannot be counted
    std::size_t bytes() const;
  };
  struct Bookmark {
    Position position;  ///< of the first event after it
    std::int64_t time_ns;
    State state;
    std::size_t bytes;  ///< size of the state
  };
  static constexpr std::size_t most_in_window = std::size_t{1} << 16;
  /// Reads on from some position, and keeps the most recent events.
  struct Cursor {
    Trace::Reader reader;
    State state;
    Position next = 0;  ///< the event that it reads next
    bool is_at_end = false;
    std::vector<LinkedEvent> window;  ///< the most recent ones, each at its position modulo most_in_window
    Position first = 0;               ///< the oldest one in the window
    bool has(Position position) const { return position >= first && position < next; }
    LinkedEvent& at(Position position) { return window[position % most_in_window]; }
    LinkedEvent& add();
  };

  State first_state();
  /// False: there are no more events.
  bool advance(Cursor& cursor);
  void link(Cursor& cursor, LinkedEvent& linked);
  void link_communication(Cursor& cursor, LinkedEvent& linked);
  void number_operation(State& state, LinkedEvent& linked) const;
  void settle(Cursor& cursor);
  void keep_bookmark(const Event& event);
  void thin_out_bookmarks();
  /// Reads on until `position` was read, or to the end.
  void read_to(Cursor& cursor, Position position);
  /// A cursor that has `position` in its window. Null: there is no such event.
  Cursor* cursor_with(Position position);
  /// The state after `position`.
  const State& state_at(Position position);
  /// Makes the cursor read up to `position`, from an earlier bookmark where needed.
  Cursor& go_back(std::unique_ptr<Cursor>& cursor, Position position);

  std::shared_ptr<const Trace> trace_;
  std::size_t most_open_;
  std::unique_ptr<Cursor> front_;         ///< has read furthest
  std::unique_ptr<Cursor> back_, state_;  ///< read again, one for events and one for states
  std::function<void()> check_;
  std::vector<Bookmark> bookmarks_;  ///< ascending
  std::size_t bytes_of_bookmarks_ = 0;
  Position between_bookmarks_;
  std::int64_t last_time_ns_ = 0;  ///< of the front's most recent event
  std::unordered_map<std::uint32_t, Position> first_enter_;
  // What Pairing reported during the last event.
  std::vector<MessagePair> paired_;
  std::vector<std::pair<MessageEvent, bool>> alone_;  ///< the event, and whether it is a send
};

}  // namespace refrain::trace
