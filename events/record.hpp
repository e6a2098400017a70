#pragma once
/// The records of a trace: one for each thing that happened on a location, in the order in which it ended.
///
/// The communications of a call come before the call itself, and so does everything that happens inside it: other
/// calls, and ends of spans. Times are ticks of the rank's clock, nodes belong to the location's call tree, and ranks
/// are those in the communicator or window.

#include <cstdint>

namespace refrain::events {

enum class Kind : std::uint8_t {
  Call = 0,  ///< a call has ended; the communications since the last record of another kind are its own
  // What a call has transferred, begun or completed: one record for each message, collective operation, one-sided
  // operation, access to a file, or synchronization of a window.
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
  Span = 11,             ///< an iteration, or time outside of iterations, has ended
  Gap = 12,              ///< records are missing here
  Flush = 13,            ///< Refrain has written records to the file
  ThreadEnd = 14,        ///< the thread has ended; another one may continue the location
  Jump = 15,             ///< earlier records are not kept: the next record is relative to the numbers in this one
  Metric = 16,           ///< a metric of REFRAIN_METRICS was read (metric_values.hpp)
  Synchronization = 17,  ///< a call has synchronized a window: fence, post, lock, flush, ...
};
inline constexpr unsigned kinds = 18;

constexpr bool is_message(Kind kind) { return kind == Kind::Send || kind == Kind::Receive; }
/// Whether the kind refers to a window instead of a communicator.
constexpr bool is_of_window(Kind kind) { return kind == Kind::OneSided || kind == Kind::Synchronization; }
/// Communications stand before the record of their call.
constexpr bool is_communication(Kind kind) {
  return (kind >= Kind::Send && kind <= Kind::Generalized) || kind == Kind::Synchronization;
}

/// Phase of a communication.
enum class Phase : std::uint8_t {
  Whole,      ///< begun and completed by this call
  Begun,      ///< begun by this call and completed by another one, under the number `request`
  Completed,  ///< completed by this call and begun by another one
  Cancelled,  ///< likewise, but cancelled: nothing was transferred
};

/// Values for a peer that is not a single rank.
inline constexpr std::int32_t any_peer = -1, no_peer = -2, this_side = -3;
inline constexpr std::int32_t any_tag = -1;
inline constexpr std::int32_t unknown_communicator = -1;
/// The tag of a Synchronization that has taken an exclusive lock.
inline constexpr std::int32_t exclusive_lock = 1;
inline constexpr std::uint32_t no_node = 0xffffffff;

/// Takes the place of a loop in a program that has none. A span of it is a *stretch*, from one blocking collective
/// operation of all processes to the next.
inline constexpr std::uint16_t stretches = 0xffff;

/// How a record stores the number of its message (message_numbers.hpp).
enum class NumberForm : std::uint8_t {
  Next,    ///< the next one of its channel; none if the channel is unknown, as in files before version 2
  None,    ///< it has no number
  Near,    ///< `ordinal` is the zigzag-coded difference from the next one; all tags of the channel so far were this one
  OneTag,  ///< `ordinal` itself; all tags of the channel so far were this one
  Full,    ///< `ordinal` and `tags_before`
};
inline constexpr std::uint64_t no_ordinal = ~std::uint64_t{0};

/// The most metrics that can be asked for, and that a record can number.
inline constexpr unsigned max_metrics = 16;

/// Numbers of requests are unique in a process: a count, and the thread that began the request.
inline constexpr unsigned bits_of_thread = 24;

/// What most records are, without the fields of other kinds.
struct CallRecord {
  bool is_whole;
  std::uint16_t region;
  std::uint32_t node;
  std::int64_t begin, time;
};

/// A field is 0 for every kind that its comment does not name.
struct Record {
  Kind kind{};
  Phase phase{};             ///< communications
  NumberForm form{};         ///< messages and collective operations
  bool is_whole = false;     ///< Call: it returned; Mark: it was ended by its own mark; Metric: `value` is not relative
  bool is_io = false;        ///< Call: of a file, not of MPI; the runtime notes none
  bool is_within = false;    ///< Call, Span, Metric: it ended inside a call whose record is yet to come
  bool begins = false;       ///< Mark
  bool is_loop = false;      ///< Mark
  std::uint16_t region = 0;  ///< Call, Mark; Span: the loop, 0: outside of iterations; Metric: its index
  std::uint32_t node = 0;    ///< Call, Sample, Mark, Jump: call path; Span of a stretch: the call that ends it
  std::int64_t time = 0;     ///< end; communications: that of the previous record
  std::int64_t begin = 0;    ///< Call, Span, Flush
  /// Call: known time off the CPU in it, nanoseconds; Sample: CPU time, nanoseconds; Span: number of the iteration;
  /// Gap: how many records are missing, at least; Metric: in its unit, less the previous reading unless `is_whole`.
  std::int64_t value = 0;
  /// Communications: source, destination, root or target. any_peer: a receive from any source that is not known yet;
  /// no_peer: an operation without one. In a rooted operation on an intercommunicator the root has this_side, the
  /// others on its side no_peer.
  std::int32_t peer = 0;
  std::int32_t tag = 0;           ///< Send, Receive; Synchronization: exclusive_lock or any_tag
  std::int32_t communicator = 0;  ///< its id; OneSided, Synchronization: the window's
  std::int32_t begun_thread = 0;  ///< Completed, Cancelled
  std::uint32_t begun_node = 0;   ///< call path there; Span of a stretch: the call before it, no_node: none
  std::uint64_t request = 0;      ///< unless Whole; Jump: the count part; Span of a stretch: hash of all so far
  std::int64_t bytes_sent = 0, bytes_received = 0;  ///< also put and got, written and read; a message has one of them
  /// Messages and collective operations: as `form` says. Synchronization: `ordinal` numbers the fences of the window;
  /// no_ordinal: it is not a numbered fence.
  std::uint64_t ordinal = 0, tags_before = 0;
};

}  // namespace refrain::events
