#pragma once
/// The event model of EARL (Wolf, Mohr: EARL, A Programmable and Extensible Toolkit for Analyzing Event Traces of
/// Message Passing Programs): events are numbered in chronological order over all locations, can be looked at in any
/// order, and have links to others; at each of them the trace has a state.
///
/// Links go back in the trace: to the Enter of the call in which something happened, to the send of a message, to the
/// event that has begun an operation. What two events have in common is decided as everywhere (pairing.hpp).
///
/// Memory: the last 65,536 events that were looked at, in two places; what is in flight; and states of the trace at up
/// to 512 positions, fewer where a state is large: 64 MiB in all. From these events far back are read again. To go back
/// far in an archive reads it from its begin.
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

/// Which event of the trace, from 0.
using Position = std::uint64_t;
inline constexpr Position no_position = ~Position{0};

struct LinkedEvent {
  Event event;
  Position position = no_position;
  /// The Enter of the call in which it happened; of a Leave, of the call that ends; of an Enter, of the call around it.
  Position enter = no_position;
  /// Of a receive that was completed: the send of its message; no_position: it does not come before the receive, is not
  /// known, or is known only `most_ahead` events later (in an archive, where a receive that was posted before is open).
  Position send = no_position;
  Position begin = no_position;  ///< of what was completed or cancelled: the event that has begun it
  /// Of a collective operation: which one of its communicator it is, from 0. In an archive it is counted, from the
  /// begin of the trace to the location's first gap or first non-blocking collective operation.
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
  /// `check` is called now and then while many events are read, and may throw.
  void check_while_reading(std::function<void()> check) { check_ = std::move(check); }
  /// How many events there are. Reads all of them, once.
  Position size();
  /// Null: there are not so many. Valid until the next call of any member.
  const LinkedEvent* event(Position position);

  // The state behind an event. Throw std::out_of_range where there is none.

  /// The Enter events of the calls in which a location is, outermost first.
  std::vector<Position> stack(Position position, std::uint32_t location);
  /// The sends of the messages that are on their way, in their order; from and to ranks of the job, nothing: all.
  /// What is never received is on its way until that is known, or for ever; so is what was received by a receive that
  /// has no link.
  std::vector<Position> queue(Position position, std::optional<std::int32_t> from = std::nullopt,
                              std::optional<std::int32_t> to = std::nullopt);

  /// The collective operation that the event belongs to: the events in which processes have begun it, as far as they
  /// are at most `most_ahead` events away. Empty: it is of no collective operation, or it is not known of which.
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
  /// What is known behind an event.
  struct State {
    std::vector<std::vector<Call>> stacks;  ///< by location
    Pairing pairing;
    std::map<Position, Flight> flights;                  ///< sends
    std::unordered_map<std::uint64_t, Position> begun;   ///< by request
    std::unordered_map<std::uint32_t, Position> unsure;  ///< receives whose send may become known; by token
    /// Of an archive: by location and communicator, how many collective operations there were.
    std::map<std::pair<std::uint32_t, std::int32_t>, std::uint64_t> operations;
    std::set<std::uint32_t> uncounted;  ///< of an archive: locations whose operations cannot be counted
    std::size_t bytes() const;
  };
  struct Bookmark {
    Position position;  ///< of the first event behind it
    std::int64_t time_ns;
    State state;
    std::size_t bytes;  ///< of the state
  };
  static constexpr std::size_t most_in_window = std::size_t{1} << 16;
  /// Reads on from somewhere, and keeps the last events.
  struct Cursor {
    Trace::Reader reader;
    State state;
    Position next = 0;  ///< that it reads
    bool is_at_end = false;
    std::vector<LinkedEvent> window;  ///< the last ones, each at its position modulo most_in_window
    Position first = 0;               ///< in it
    bool has(Position position) const { return position >= first && position < next; }
    LinkedEvent& at(Position position) { return window[position % most_in_window]; }
    LinkedEvent& add();
  };

  State first_state();
  /// False: there are no more.
  bool advance(Cursor& cursor);
  void link(Cursor& cursor, LinkedEvent& linked);
  void link_communication(Cursor& cursor, LinkedEvent& linked);
  void number_operation(State& state, LinkedEvent& linked) const;
  void settle(Cursor& cursor);
  void keep_bookmark(const Event& event);
  void thin_out_bookmarks();
  /// Until it has read `position`, or the end.
  void read_to(Cursor& cursor, Position position);
  /// Has read `position`, and has it in its window. Null: there is no such event.
  Cursor* cursor_with(Position position);
  /// The state behind `position`.
  const State& state_at(Position position);
  /// The cursor has read `position`; moves it to a place before that where needed.
  Cursor& go_back(std::unique_ptr<Cursor>& cursor, Position position);

  std::shared_ptr<const Trace> trace_;
  std::size_t most_open_;
  std::unique_ptr<Cursor> front_;         ///< has read most
  std::unique_ptr<Cursor> back_, state_;  ///< read again: for events, and for states
  std::function<void()> check_;
  std::vector<Bookmark> bookmarks_;  ///< ascending
  std::size_t bytes_of_bookmarks_ = 0;
  Position between_bookmarks_;
  std::int64_t last_time_ns_ = 0;  ///< of the front
  std::unordered_map<std::uint32_t, Position> first_enter_;
  // What Pairing has told during the last event.
  std::vector<MessagePair> paired_;
  std::vector<std::pair<MessageEvent, bool>> alone_;  ///< whether it is a send
};

}  // namespace refrain::trace
