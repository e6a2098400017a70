/// `refrain info metrics`: the metrics that REFRAIN_METRICS can name on this machine.

#include "tools/metric_names.hpp"

#include <dlfcn.h>
#include <papi.h>

#include "tools/console.hpp"

namespace refrain::tools {
namespace {

struct Row {
  const char *name, *help;
};
constexpr Row resources[] = {
#define RESOURCE_METRIC(id, name, unit, help) {name, help},
#include "config/metrics.def"
};
constexpr Row kernel_events[] = {
#define KERNEL_METRIC(id, name, unit, help) {name, help},
#include "config/metrics.def"
};

void print(const char* name, const char* help) { show("  {:<36} {}\n", name, help); }

/// The PAPI functions that the listing calls.
struct Papi {
  decltype(&PAPI_library_init) library_init;
  decltype(&PAPI_num_components) num_components;
  decltype(&PAPI_get_component_info) get_component_info;
  decltype(&PAPI_enum_cmp_event) enum_cmp_event;
  decltype(&PAPI_event_code_to_name) event_code_to_name;
  decltype(&PAPI_get_event_info) get_event_info;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool open(Papi& papi) {
  void* library = nullptr;
  for (const char* name : {"libpapi.so.7.2", "libpapi.so.7.1", "libpapi.so.7.0", "libpapi.so.7", "libpapi.so"})
    if (!library) library = dlopen(name, RTLD_LOCAL | RTLD_NOW);
  return library && find(library, "PAPI_library_init", papi.library_init) &&
         find(library, "PAPI_num_components", papi.num_components) &&
         find(library, "PAPI_get_component_info", papi.get_component_info) &&
         find(library, "PAPI_enum_cmp_event", papi.enum_cmp_event) &&
         find(library, "PAPI_event_code_to_name", papi.event_code_to_name) &&
         find(library, "PAPI_get_event_info", papi.get_event_info);
}

int print_events(const Papi& papi, int code, int next, int component) {
  int count = 0;
  if (papi.enum_cmp_event(&code, PAPI_ENUM_FIRST, component) != PAPI_OK) return 0;
  do {
    char name[PAPI_MAX_STR_LEN];
    static PAPI_event_info_t info;
    if (papi.event_code_to_name(code, name) != PAPI_OK) continue;
    info = {};
    (void)papi.get_event_info(code, &info);
    print(name, *info.short_descr ? info.short_descr : info.long_descr);
    ++count;
  } while (papi.enum_cmp_event(&code, next, component) == PAPI_OK);
  return count;
}

void print_papi() {
  Papi papi{};
  show("\nEvents of PAPI:\n");
  if (!open(papi) || papi.library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
    return show("  none: libpapi.so.7 cannot be loaded\n");
  int count = 0;
  for (int i = 0; i < papi.num_components(); ++i) {
    const PAPI_component_info_t* component = papi.get_component_info(i);
    if (!component || component->disabled) continue;
    count += print_events(papi, PAPI_PRESET_MASK, PAPI_PRESET_ENUM_AVAIL, i);
    count += print_events(papi, static_cast<int>(PAPI_NATIVE_MASK), PAPI_ENUM_EVENTS, i);
  }
  if (count == 0) show("  none: this machine shows it no counters\n");
}

}  // namespace

void print_metric_names() {
  show("Resource usage of a thread:\n");
  for (const Row& row : resources) print(row.name, row.help);
  show("\nEvents of the kernel:\n");
  for (const Row& row : kernel_events) print(row.name, row.help);
  print_papi();
}

}  // namespace refrain::tools
