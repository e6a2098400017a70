#pragma once
/// Events of PAPI, for programs whose user asks for them: libpapi is loaded then and only then, privately, and stays
/// the program's own business otherwise.
///
/// Thread safety: `load`, `add_event` and `for_each_event` before the first set is opened; sets belong to the thread
/// that opens them. Errors: a text of PAPI or of the loader, or false. errno is kept.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "platform/function_ref.hpp"

namespace refrain::adapters::papi {

/// Loads and initialises the library. Null, or what is wrong. The same answer when asked again.
const char* load();

/// Takes an event into every set that is opened from now on, after those taken before. `unit` is "1", "B" or "ns".
/// Null, or why it cannot be counted here.
const char* add_event(const char* name, const char*& unit);
std::uint32_t event_count();

/// All events that can be counted here: presets, then native ones. Takes its time.
void for_each_event(platform::FunctionRef<void(std::string_view name)> take);

/// The events, counting on the calling thread. Null: they cannot.
struct EventSets;
EventSets* open();
void close(EventSets* sets);  ///< on the thread that has opened them
/// Counts since open(), `event_count()` of them. At a tick only events of the CPU and of the kernel are read, which
/// PAPI does by plain system calls; others are left as they are. False: some could not be read.
/// Async-signal-safe with `at_tick`, as far as PAPI is (docs/async-safety.md).
bool read(EventSets* sets, bool at_tick, std::int64_t* values);

}  // namespace refrain::adapters::papi
