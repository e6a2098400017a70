/* A stand-in for libpapi.so.7, for machines that have no counter for the real one: its events are page faults and CPU
   time of the thread, which other metrics of the test know too. STAND_IN_MAJOR is the version that it claims to be. */
#define _GNU_SOURCE
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char* const names[] = {"STAND_IN_FAULTS", "STAND_IN_CLOCK", "STAND_IN_BROKEN"};
enum { event_count = 3, first_code = (int)0x40000000, most_sets = 1000 };
static struct {
  int used, count, events[8];
  long long begin[8];
} sets[most_sets];
static PAPI_component_info_t component = {.name = "perf_event"};

static long long value_of(int event) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  if (event == 0) return usage.ru_minflt + usage.ru_majflt;
  return ((long long)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
         ((long long)usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

int PAPI_library_init(int version) {
  const char* major = getenv("STAND_IN_MAJOR");
  return major ? atoi(major) << 24 : version;
}
int PAPI_thread_init(unsigned long (*id)(void)) { return id ? PAPI_OK : PAPI_EINVAL; }
int PAPI_register_thread(void) { return PAPI_OK; }
int PAPI_unregister_thread(void) { return PAPI_OK; }
char* PAPI_strerror(int code) { return code == PAPI_ENOEVNT ? "Event does not exist" : "Stand-in error"; }
int PAPI_event_name_to_code(const char* name, int* code) {
  for (int i = 0; i < event_count; ++i)
    if (strcmp(name, names[i]) == 0) return *code = first_code + i, PAPI_OK;
  return PAPI_ENOEVNT;
}
int PAPI_event_code_to_name(int code, char* name) {
  if (code < first_code || code >= first_code + event_count) return PAPI_ENOEVNT;
  return strcpy(name, names[code - first_code]), PAPI_OK;
}
int PAPI_get_event_info(int code, PAPI_event_info_t* info) {
  memset(info, 0, sizeof *info);
  PAPI_event_code_to_name(code, info->symbol);
  if (code == first_code + 1) strcpy(info->units, "ns");
  return PAPI_OK;
}
int PAPI_get_event_component(int code) { return (void)code, 0; }
const PAPI_component_info_t* PAPI_get_component_info(int index) { return index == 0 ? &component : NULL; }
int PAPI_num_components(void) { return 1; }
int PAPI_enum_cmp_event(int* code, int modifier, int index) {
  if (index != 0 || !(*code & 0x40000000)) return PAPI_ENOEVNT;
  if (modifier == PAPI_ENUM_FIRST) return *code = first_code, PAPI_OK;
  return ++*code < first_code + event_count ? PAPI_OK : PAPI_ENOEVNT;
}
int PAPI_create_eventset(int* set) {
  static int next = 0;
  const int i = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
  if (i >= most_sets) return PAPI_ENOMEM;
  sets[i].used = 1;
  return *set = i, PAPI_OK;
}
int PAPI_cleanup_eventset(int set) { return sets[set].count = 0, PAPI_OK; }
int PAPI_destroy_eventset(int* set) { return sets[*set].used = 0, *set = PAPI_NULL, PAPI_OK; }
int PAPI_add_event(int set, int code) {
  if (code - first_code == 2) return PAPI_ENOEVNT;
  sets[set].events[sets[set].count++] = code - first_code;
  return PAPI_OK;
}
int PAPI_start(int set) {
  for (int i = 0; i < sets[set].count; ++i) sets[set].begin[i] = value_of(sets[set].events[i]);
  return PAPI_OK;
}
int PAPI_read(int set, long long* values) {
  if (!sets[set].used) return PAPI_ENOEVST;
  for (int i = 0; i < sets[set].count; ++i) values[i] = value_of(sets[set].events[i]) - sets[set].begin[i];
  return PAPI_OK;
}
int PAPI_stop(int set, long long* values) { return PAPI_read(set, values); }
