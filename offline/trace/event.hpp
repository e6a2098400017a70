#pragma once
/// An event of a trace, whatever its source.

#include <cstdint>

#include "events/record.hpp"

namespace refrain::trace {

enum class Type : std::uint8_t {
  Enter,          ///< a call begins
  Leave,          ///< a call ends
  Communication,  ///< what a call moves, begins or completes: `record`
  Sample,         ///< a tick has hit the program's own code
  MarkBegin,      ///< a loop or region of the program begins
  MarkEnd,
  SpanEnd,  ///< an iteration, or time outside of iterations, ends
  Gap,      ///< events are missing
  FlushBegin,
  FlushEnd,
  ThreadEnd,
  // Fields of the record are given in (). Except for Metric, these types occur only in archives of other tools: Refrain
  // does not record them.
  GapEnd,     ///< events are kept again
  Metric,     ///< a value of Trace::metrics() (node: its index; value, see Trace::value_of)
  Parameter,  ///< a value of Trace::parameters() (node: its index; value; is_whole: the value is an index into texts())
  RequestTest,   ///< a request was found to be incomplete (request)
  ProgramBegin,  ///< (node: name in Trace::texts())
  ProgramEnd,    ///< (value: exit status)
  Fork,          ///< threads are started (value: number requested)
  Join,          ///< the threads have ended
  TeamBegin,     ///< the thread is a member of a team (communicator)
  TeamEnd,
  ThreadCreate,  ///< a thread is made (request: its number; communicator)
  ThreadBegin,   ///< the thread begins (same fields)
  ThreadWait,    ///< the thread was waited for (same fields)
  LockAcquired,  ///< (request: the lock; value: number of acquisitions so far, including this one)
  LockReleased,
  TaskCreate,  ///< (request: the task)
  TaskSwitch,  ///< to that task
  TaskComplete,
  CommunicatorMade,  ///< (communicator)
  CommunicatorFreed,
  WindowMade,  ///< (communicator: index into Trace::windows())
  WindowFreed,
  WindowCollective,     ///< an operation of all ranks of a window (communicator: window; bytes)
  WindowSync,           ///< (communicator: window; peer: rank in the window, unless a group synchronizes)
  WindowLockRequested,  ///< (communicator: window; peer; request: the lock)
  WindowLocked,
  WindowUnlocked,
};
inline constexpr unsigned types = 38;
const char* name_of(Type type);

/// The name of a kind of record.
const char* name_of(events::Kind kind);
const char* name_of(events::Phase phase);

inline constexpr std::uint32_t no_path = 0xffffffff;

struct Event {
  Type type{};
  std::uint32_t location = 0;    ///< index into Trace::locations()
  std::int64_t time_ns = 0;      ///< since the start of the trace
  std::uint32_t path = no_path;  ///< call path, see Trace::region(); no_path: not known
  /// The record that the event comes from: its times are ticks of the rank (see Trace::time_of()), its nodes those of
  /// the location. In an archive times are nanoseconds, and communicators are indices into Communicators::all(). For
  /// messages, `ordinal` and `tags_before` are their number, however it was encoded; no_ordinal: no number. For
  /// collective operations, `ordinal` is the operation's number on its communicator, or no_ordinal.
  events::Record record;
};

}  // namespace refrain::trace
