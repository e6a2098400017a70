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
};
inline constexpr unsigned types = 11;
const char* name_of(Type type);

/// The names of events::Kind for communications.
const char* name_of(events::Kind kind);
const char* name_of(events::Phase phase);

inline constexpr std::uint32_t no_path = 0xffffffff;

struct Event {
  Type type{};
  std::uint32_t location = 0;    ///< index into Trace::locations()
  std::int64_t time_ns = 0;      ///< since the begin of the trace
  std::uint32_t path = no_path;  ///< call path of the experiment; no_path: not known
  /// Where the event comes from: times in it are ticks of the rank, and nodes those of the location. Of messages
  /// `ordinal` and `tags_before` are its number, whatever form it had; no_ordinal: it has none.
  events::Record record;
};

}  // namespace refrain::trace
