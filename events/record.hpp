#pragma once
/// What a trace consists of: one record for each thing that happened on a location, in the order in which it ended.
///
/// The communications of a call come before the call itself. What happens within a call comes before it, too: other
/// calls, and ends of spans. Times are ticks of
/// the rank's clock, nodes are those of the location's call tree, ranks those in the communicator or window.

#include <cstdint>

namespace refrain::events {

enum class Kind : std::uint8_t {
  Call = 0,  ///< a call has ended; its communications are those since the last record of another kind
  // What a call has moved, begun or completed: one record for each message, collective operation, one-sided operation,
  // access to a file, or synchronization of a window.
  Send = 1,
  Receive = 2,
  Collective = 3,
  OneSided = 4,
  Read = 5,
  Write = 6,
  Communicator = 7,
  Generalized = 8,
  Sample = 9,
  Mark = 10,             ///< a loop or region of the program begins or ends
  Span = 11,             ///< an iteration has ended, or time outside of iterations
  Gap = 12,              ///< records are missing here
  Flush = 13,            ///< Refrain has written records to the file
  ThreadEnd = 14,        ///< the location goes on with another thread, or not at all
  Jump = 15,             ///< what was before is not kept: the numbers of the next record are relative to these
  Metric = 16,           ///< a metric of REFRAIN_METRICS was read (metric_values.hpp)
  Synchronization = 17,  ///< a call has synchronized a window: fence, post, lock, flush, ...
};
inline constexpr unsigned kinds = 18;

constexpr bool is_message(Kind kind) { return kind == Kind::Send || kind == Kind::Receive; }
/// Of a window.
constexpr bool is_of_window(Kind kind) { return kind == Kind::OneSided || kind == Kind::Synchronization; }
/// They stand before the record of their call.
constexpr bool is_communication(Kind kind) {
  return (kind >= Kind::Send && kind <= Kind::Generalized) || kind == Kind::Synchronization;
}

/// Of a communication.
enum class Phase : std::uint8_t {
  Whole,      ///< begun and completed by this call
  Begun,      ///< completed by another, under the number `request`
  Completed,  ///< begun by another
  Cancelled,  ///< likewise, and nothing was moved
};

/// Who is meant where it is not one rank.
inline constexpr std::int32_t any_peer = -1, no_peer = -2, this_side = -3;
inline constexpr std::int32_t any_tag = -1;
inline constexpr std::int32_t unknown_communicator = -1;
/// The tag of a Synchronization that has locked a window for its process alone.
inline constexpr std::int32_t exclusive_lock = 1;
inline constexpr std::uint32_t no_node = 0xffffffff;

/// Stands for a loop in a program that has none: a span of it is a *stretch*, from one blocking collective operation of
/// all processes to the next.
inline constexpr std::uint16_t stretches = 0xffff;

/// How a record tells the number of its message (message_numbers.hpp).
enum class NumberForm : std::uint8_t {
  Next,    ///< the one after the last of its channel; where that is not known, none: as in files before version 2
  None,    ///< it has none
  Near,    ///< `ordinal` is the zigzag-coded difference from the next one; all tags of the channel were this one so far
  OneTag,  ///< `ordinal`, likewise
  Full,    ///< `ordinal` and `tags_before`
};
inline constexpr std::uint64_t no_ordinal = ~std::uint64_t{0};

/// More cannot be asked for, and find no room in a record.
inline constexpr unsigned max_metrics = 16;

/// Numbers of requests are unique in a process: a count, and the thread that has begun it.
inline constexpr unsigned bits_of_thread = 24;

/// What most records are, without the fields of the others.
struct CallRecord {
  bool is_whole;
  std::uint16_t region;
  std::uint32_t node;
  std::int64_t begin, time;
};

/// Fields that a kind does not name are 0.
struct Record {
  Kind kind{};
  Phase phase{};             ///< of communications
  NumberForm form{};         ///< of messages
  bool is_whole = false;     ///< Call: it has returned; Mark: it was not left without its end; Metric: `value` is whole
  bool is_io = false;        ///< Call: of a file, not of MPI; the runtime notes none
  bool is_within = false;    ///< Call, Span, Metric: it has ended within a call, whose record is yet to come
  bool begins = false;       ///< Mark
  bool is_loop = false;      ///< Mark
  std::uint16_t region = 0;  ///< Call, Mark; Span: the loop, 0 outside of iterations; Metric: which, below max_metrics
  std::uint32_t node = 0;    ///< Call, Sample, Mark: call path; Jump; Span: of a stretch, that of the call it ends with
  std::int64_t time = 0;     ///< end; of communications that of the record before
  std::int64_t begin = 0;    ///< Call, Span, Flush
  /// Call: time off the CPU in it, nanoseconds, as far as it was found by itself; Sample: CPU time, nanoseconds; Span:
  /// the iteration; Gap: how many are missing, at least; Metric: in its unit, less that of the reading before unless
  /// `is_whole`.
  std::int64_t value = 0;
  /// Of communications: source, destination, root or target. any_peer: a receive that takes any, of which the source is
  /// not known yet; no_peer: an operation without one. Of a rooted operation on an intercommunicator the root has
  /// this_side, the others on its side no_peer.
  std::int32_t peer = 0;
  std::int32_t tag = 0;           ///< Send, Receive; of Synchronization exclusive_lock or any_tag
  std::int32_t communicator = 0;  ///< its id; of OneSided and Synchronization the window's
  std::int32_t begun_thread = 0;  ///< Completed, Cancelled
  std::uint32_t begun_node = 0;   ///< call path there; Span: of a stretch, the call before it; no_node: there was none
  std::uint64_t request = 0;      ///< unless Whole; Jump: the count part alone; Span: of a stretch, hash of all so far
  std::int64_t bytes_sent = 0, bytes_received = 0;  ///< also put and got, written and read; a message has one of them
  /// Of messages and collective operations, what `form` says. Of Synchronization `ordinal` is which fence of the window
  /// it is, or no_ordinal.
  std::uint64_t ordinal = 0, tags_before = 0;
};

}  // namespace refrain::events
