#pragma once
/// Events of PAPI, for users who ask for them. Only then is libpapi loaded, privately; otherwise it is the program's
/// own business.
///
/// Thread safety: `load`, `add_event` and `for_each_event` must be called before the first set is opened; a set belongs
/// to the thread that opens it. Errors: a text of PAPI or of the loader, or false. errno is preserved.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "platform/function_ref.hpp"

namespace refrain::adapters::papi {

/// Loads and initialises the library. Returns null or the reason of the failure, the same one on every call.
const char* load();

/// Adds an event to every set that is opened from now on, behind the events added before. `unit` becomes "1", "B" or
/// "ns". Returns null, or the reason why the event cannot be counted here.
const char* add_event(const char* name, const char*& unit);
std::uint32_t event_count();

/// Calls `take` for all events that can be counted here: presets, then native ones. Slow.
void for_each_event(platform::FunctionRef<void(std::string_view name)> take);

/// Sets of the added events that count on the calling thread. Null: they cannot be counted.
struct EventSets;
EventSets* open();
void close(EventSets* sets);  ///< on the thread that opened them
/// Reads `event_count()` counts since open(). At a tick it reads only events of the CPU and of the kernel, which PAPI
/// does by plain system calls, and leaves other values as they are. False: some could not be read. Async-signal-safe if
/// `at_tick`, as far as PAPI is (docs/async-safety.md).
bool read(EventSets* sets, bool at_tick, std::int64_t* values);

}  // namespace refrain::adapters::papi
