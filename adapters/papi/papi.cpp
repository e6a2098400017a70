#include "adapters/papi/papi.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <papi.h>
#include <pthread.h>

#include "platform/floating_point.hpp"
#include "platform/pages.hpp"
#include "platform/symbols.hpp"

namespace refrain::adapters::papi {
namespace {

/// Pointers to the functions that are used, by their names in the library.
struct Functions {
#define PAPI_FUNCTION(name) decltype(&PAPI_##name) name = nullptr;
#include "adapters/papi/functions.def"
#undef PAPI_FUNCTION
};
Functions papi;

constexpr std::uint32_t max_events = 12;

struct Event {
  int code;
  std::uint32_t set;    ///< events of one component share a set
  std::uint32_t index;  ///< in the set
};
Event events[max_events];
std::uint32_t events_taken = 0;

struct Component {
  int index;
  std::uint32_t events;
  bool at_ticks;
};
/// libpapi was loaded already, so the program may use PAPI on a thread after Refrain has closed its sets there.
bool program_has_papi = false;

Component components[max_events];
std::uint32_t components_used = 0;

/// Restores what the library changes on the calling thread: errno and the floating-point environment.
class Aside {
 public:
  Aside() : errno_(errno) {}
  ~Aside() { errno = errno_; }

 private:
  const platform::OwnFloatingPoint own_environment_;
  int errno_;
};

bool equal(const char* a, std::string_view b) { return b == a; }

/// The interface of one major version is stable; other major versions have another interface.
constexpr const char* library_names[] = {"libpapi.so.7.2", "libpapi.so.7.1", "libpapi.so.7.0", "libpapi.so.7",
                                         "libpapi.so"};

const char* load_library() {
  void* library = nullptr;
  for (const char* name : library_names)
    if (!library) library = dlopen(name, RTLD_LOCAL | RTLD_NOW | RTLD_NOLOAD);
  program_has_papi = library;
  for (const char* name : library_names)
    if (!library) library = dlopen(name, RTLD_LOCAL | RTLD_NOW);
  if (!library) return "libpapi.so.7 cannot be loaded";
#define PAPI_FUNCTION(name) \
  papi.name = reinterpret_cast<decltype(papi.name)>(platform::find_symbol(library, "PAPI_" #name));
#include "adapters/papi/functions.def"
#undef PAPI_FUNCTION
  bool complete = true;
#define PAPI_FUNCTION(name) complete = complete && papi.name;
#include "adapters/papi/functions.def"
#undef PAPI_FUNCTION
  if (!complete) return "the libpapi.so that was found lacks functions of PAPI 7";
  const int version = papi.library_init(PAPI_VER_CURRENT);
  if (version > 0 && PAPI_VERSION_MAJOR(version) != PAPI_VERSION_MAJOR(PAPI_VER_CURRENT))
    return "the libpapi.so that was found is not of PAPI 7";
  if (version < 0) return papi.strerror(version);
  if (papi.thread_init(pthread_self) != PAPI_OK) return "PAPI cannot count on threads here";
  return nullptr;
}

const char* unit_of(const PAPI_event_info_t& info) {
  for (const char* unit : {"B", "ns"})
    if (equal(info.units, unit)) return unit;
  if (equal(info.units, "bytes")) return "B";
  // The clocks among the kernel's events have no unit.
  const std::string_view symbol = info.symbol;
  return symbol.ends_with("-CLOCK") ? "ns" : "1";
}

/// Begins to count the events of one component on this thread. Returns PAPI_OK or the error.
int start_set(std::uint32_t component, int& set) {
  set = PAPI_NULL;
  int result = papi.create_eventset(&set);
  for (std::uint32_t i = 0; i < events_taken && result == PAPI_OK; ++i)
    if (events[i].set == component) result = papi.add_event(set, events[i].code);
  return result == PAPI_OK ? papi.start(set) : result;
}

/// Also for a set that has never begun to count.
void end_set(int& set) {
  if (set == PAPI_NULL) return;
  long long values[max_events];
  papi.stop(set, values);
  papi.cleanup_eventset(set);
  papi.destroy_eventset(&set);
}

/// The reason why the events of one component cannot be counted together on this thread; null: they can.
const char* try_component(std::uint32_t component) {
  int set;
  const int result = start_set(component, set);
  end_set(set);
  return result == PAPI_OK ? nullptr : papi.strerror(result);
}

std::uint32_t component_of(int index) {
  for (std::uint32_t i = 0; i < components_used; ++i)
    if (components[i].index == index) return i;
  const PAPI_component_info_t* info = papi.get_component_info(index);
  components[components_used] = {index, 0, info && equal(info->name, "perf_event")};
  return components_used++;
}

}  // namespace

const char* load() {
  const Aside aside;
  static bool tried = false;
  static const char* fault = nullptr;
  if (!tried) fault = load_library();
  tried = true;
  return fault;
}

const char* add_event(const char* name, const char*& unit) {
  const Aside aside;
  if (events_taken == max_events) return "too many events";
  int code = 0;
  if (const int result = papi.event_name_to_code(name, &code); result != PAPI_OK) return papi.strerror(result);
  static PAPI_event_info_t info;  // static because it is large; there are no threads yet
  if (const int result = papi.get_event_info(code, &info); result != PAPI_OK) return papi.strerror(result);
  const std::uint32_t before = components_used;
  const std::uint32_t component = component_of(papi.get_event_component(code));
  events[events_taken] = {code, component, components[component].events++};
  ++events_taken;
  const char* fault = try_component(component);
  if (!fault) {
    unit = unit_of(info);
    return nullptr;
  }
  --events_taken;
  --components[component].events;
  components_used = before;
  return fault;
}

std::uint32_t event_count() { return events_taken; }

void for_each_event(platform::FunctionRef<void(std::string_view)> take) {
  const Aside aside;
  char name[PAPI_MAX_STR_LEN];
  const auto all = [&](int code, int first, int next, int component) {
    if (papi.enum_cmp_event(&code, first, component) != PAPI_OK) return;
    do {
      if (papi.event_code_to_name(code, name) == PAPI_OK) take(name);
    } while (papi.enum_cmp_event(&code, next, component) == PAPI_OK);
  };
  const int count = papi.num_components();
  for (int i = 0; i < count; ++i) all(PAPI_PRESET_MASK, PAPI_ENUM_FIRST, PAPI_PRESET_ENUM_AVAIL, i);
  for (int i = 0; i < count; ++i) {
    const PAPI_component_info_t* info = papi.get_component_info(i);
    if (info && !info->disabled) all(static_cast<int>(PAPI_NATIVE_MASK), PAPI_ENUM_FIRST, PAPI_ENUM_EVENTS, i);
  }
}

struct EventSets {
  int set[max_events];
};

EventSets* open() {
  const Aside aside;
  auto* sets = platform::make_on_pages<EventSets>();
  if (!sets) return nullptr;
  for (int& set : sets->set) set = PAPI_NULL;
  bool good = papi.register_thread() == PAPI_OK;
  for (std::uint32_t c = 0; c < components_used && good; ++c) good = start_set(c, sets->set[c]) == PAPI_OK;
  if (good) return sets;
  close(sets);
  return nullptr;
}

void close(EventSets* sets) {
  const Aside aside;
  for (int& set : sets->set) end_set(set);
  if (!program_has_papi) papi.unregister_thread();
  platform::unmake_on_pages(sets);
}

bool read(EventSets* sets, bool at_tick, std::int64_t* values) {
  const Aside aside;
  bool good = true;
  for (std::uint32_t c = 0; c < components_used; ++c) {
    if (at_tick && !components[c].at_ticks) continue;
    long long counts[max_events];
    if (papi.read(sets->set[c], counts) != PAPI_OK) {
      good = false;
      continue;
    }
    for (std::uint32_t i = 0; i < events_taken; ++i)
      if (events[i].set == c) values[i] = counts[events[i].index];
  }
  return good;
}

}  // namespace refrain::adapters::papi
