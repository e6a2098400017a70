#pragma once
/// An event of a trace, whatever it was read from.

#include <cstdint>

#include "events/record.hpp"

namespace refrain::trace {

enum class Type : std::uint8_t {
  Enter,          ///< a call begins
  Leave,          ///< it ends
  Communication,  ///< what a call moves, begins or completes: `record`
  Sample,         ///< a tick has found the program's own code
  MarkBegin,      ///< a loop or region of the program
  MarkEnd,
  SpanEnd,  ///< an iteration ends, or time outside of iterations
  Gap,      ///< events are missing
  FlushBegin,
  FlushEnd,
  ThreadEnd,
  // What the record says is said in (). But for Metric it is what Refrain does not record itself, of other tools'
  // archives.
  GapEnd,        ///< events are kept again
  Metric,        ///< a value of Trace::metrics() (node: its index; value, see Trace::value_of)
  Parameter,     ///< a value of Trace::parameters() (node: its index; value; is_whole: that is a place in texts())
  RequestTest,   ///< a request was found to be incomplete (request)
  ProgramBegin,  ///< (node: name in Trace::texts())
  ProgramEnd,    ///< (value: exit status)
  Fork,          ///< threads are started (value: how many were asked for)
  Join,          ///< they have ended
  TeamBegin,     ///< the thread is a member of a team (communicator)
  TeamEnd,
  ThreadCreate,  ///< a thread is made (request: its number; communicator)
  ThreadBegin,   ///< it begins (same)
  ThreadWait,    ///< it was waited for (same)
  LockAcquired,  ///< (request: the lock; value: how many have had it before, and this)
  LockReleased,
  TaskCreate,  ///< (request: the task)
  TaskSwitch,  ///< to that task
  TaskComplete,
  CommunicatorMade,  ///< (communicator)
  CommunicatorFreed,
  WindowMade,  ///< (communicator: index into Trace::windows())
  WindowFreed,
  WindowCollective,     ///< an operation of all ranks of a window (communicator: window; bytes)
  WindowSync,           ///< (communicator: window; peer: rank in it, unless it is of a group)
  WindowLockRequested,  ///< (communicator: window; peer; request: the lock)
  WindowLocked,
  WindowUnlocked,
};
inline constexpr unsigned types = 38;
const char* name_of(Type type);

/// The names of events::Kind for communications.
const char* name_of(events::Kind kind);
const char* name_of(events::Phase phase);

inline constexpr std::uint32_t no_path = 0xffffffff;

struct Event {
  Type type{};
  std::uint32_t location = 0;    ///< index into Trace::locations()
  std::int64_t time_ns = 0;      ///< since the begin of the trace
  std::uint32_t path = no_path;  ///< call path, see Trace::region(); no_path: not known
  /// Where the event comes from: times in it are ticks of the rank (see Trace::time_of()), and nodes those of the
  /// location. Of an archive times are nanoseconds, and communicators index Communicators::all(). Of messages
  /// `ordinal` and `tags_before` are their number, whatever form it had; no_ordinal: it has none. Of collective
  /// operations `ordinal` is which one on its communicator it is, or no_ordinal.
  events::Record record;
};

}  // namespace refrain::trace
