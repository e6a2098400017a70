// Compares ways to read all events in time order: those of an experiment, those of its exported archive, and those of
// the archive through libotf2's global reader with empty callbacks. Also searches the experiment and the archive for
// all patterns, without their causes. All of these run in turn. Usage: bench_trace_read [EXPERIMENT]
// ARCHIVE/traces.otf2

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <otf2/otf2.h>
#include <vector>

#include "offline/patterns/pattern.hpp"
#include "offline/patterns/threads.hpp"
#include "offline/trace/trace.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

using refrain::trace::Trace;
using namespace refrain;

std::uint64_t count_events(const std::shared_ptr<const Trace>& trace) {
  if (!trace) return 0;
  std::uint64_t events = 0;
  auto reader = trace->read();
  while (reader.next()) ++events;
  return events;
}
std::uint64_t read_native(const char* experiment) {
  return count_events(Trace::open(refrain::experiment::Experiment::open(experiment)));
}
std::uint64_t read_archive(const char* anchor) { return count_events(Trace::open_archive(anchor)); }

std::uint64_t search(const std::shared_ptr<const Trace>& trace) {
  if (!trace) return 0;
  patterns::Search search(*trace, false);
  patterns::Patterns all = patterns::waiting_patterns({});
  std::ranges::move(patterns::thread_patterns(), std::back_inserter(all));
  patterns::Quantity next = patterns::first_of_patterns;
  for (const auto& of : all) {
    of->set_quantity(next++);
    of->subscribe(search);
  }
  search.run();
  return search.counts().messages.paired;
}
std::uint64_t search_native(const char* experiment) {
  return search(Trace::open(experiment::Experiment::open(experiment)));
}
std::uint64_t search_archive(const char* anchor) { return search(Trace::open_archive(anchor)); }

std::vector<OTF2_LocationRef> locations;

OTF2_CallbackCode take_location(void* reader, OTF2_LocationRef self, OTF2_StringRef, OTF2_LocationType, std::uint64_t,
                                OTF2_LocationGroupRef) {
  OTF2_Reader_SelectLocation(static_cast<OTF2_Reader*>(reader), self);
  locations.push_back(self);
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode enter(OTF2_LocationRef, OTF2_TimeStamp, void*, OTF2_AttributeList*, OTF2_RegionRef) {
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode send(OTF2_LocationRef, OTF2_TimeStamp, void*, OTF2_AttributeList*, std::uint32_t, OTF2_CommRef,
                       std::uint32_t, std::uint64_t) {
  return OTF2_CALLBACK_SUCCESS;
}

std::uint64_t read_otf2(const char* anchor) {
  OTF2_Reader* reader = OTF2_Reader_Open(anchor);
  if (!reader) return 0;
  OTF2_Reader_SetSerialCollectiveCallbacks(reader);
  std::uint64_t read = 0;
  locations.clear();
  OTF2_GlobalDefReader* definitions = OTF2_Reader_GetGlobalDefReader(reader);
  OTF2_GlobalDefReaderCallbacks* of_definitions = OTF2_GlobalDefReaderCallbacks_New();
  OTF2_GlobalDefReaderCallbacks_SetLocationCallback(of_definitions, take_location);
  OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, of_definitions, reader);
  OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &read);
  OTF2_Reader_OpenDefFiles(reader);
  OTF2_Reader_OpenEvtFiles(reader);
  for (const OTF2_LocationRef i : locations) {
    if (OTF2_DefReader* local = OTF2_Reader_GetDefReader(reader, i)) {
      OTF2_Reader_ReadAllLocalDefinitions(reader, local, &read);
      OTF2_Reader_CloseDefReader(reader, local);
    }
    OTF2_Reader_GetEvtReader(reader, i);
  }
  OTF2_Reader_CloseDefFiles(reader);
  OTF2_GlobalEvtReader* events = OTF2_Reader_GetGlobalEvtReader(reader);
  OTF2_GlobalEvtReaderCallbacks* of_events = OTF2_GlobalEvtReaderCallbacks_New();
  OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(of_events, enter);
  OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback(of_events, enter);
  OTF2_GlobalEvtReaderCallbacks_SetMpiSendCallback(of_events, send);
  OTF2_GlobalEvtReaderCallbacks_SetMpiRecvCallback(of_events, send);
  OTF2_Reader_RegisterGlobalEvtCallbacks(reader, events, of_events, nullptr);
  std::uint64_t count = 0;
  OTF2_Reader_ReadAllGlobalEvents(reader, events, &count);
  OTF2_Reader_Close(reader);
  return count;
}

double median(std::vector<double> of) {
  std::ranges::sort(of);
  return of[of.size() / 2];
}
struct Measured {
  std::vector<double> rates, wall_s, cpu_s;  ///< events per second and times, by pass
};

void measure(Measured& to, std::uint64_t (*read)(const char*), const char* path) {
  const auto begin = Clock::now();
  const double cpu = cpu_seconds();
  const auto events = static_cast<double>(read(path));
  to.wall_s.push_back(seconds_since(begin));
  to.rates.push_back(events / to.wall_s.back());
  to.cpu_s.push_back(cpu_seconds() - cpu);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2 && count != 3)
    return std::fprintf(stderr, "usage: bench_trace_read [EXPERIMENT] ARCHIVE/traces.otf2\n"), 1;
  const char* const anchor = arguments[count - 1];
  Measured native, archive, otf2, search_of_native, search_of_archive;
  for (int i = 0; i < 7; ++i) {
    if (count == 3) measure(native, read_native, arguments[1]);
    if (count == 3) measure(search_of_native, search_native, arguments[1]);
    measure(archive, read_archive, anchor);
    measure(search_of_archive, search_archive, anchor);
    measure(otf2, read_otf2, anchor);
  }
  const double a = median(archive.rates), b = median(otf2.rates);
  if (count == 3) {
    const double n = median(native.rates);
    std::printf("native %.2f, libotf2 %.2f million events per second: %.2f times as fast\n", n / 1e6, b / 1e6, n / b);
  }
  std::printf("archive %.2f, libotf2 %.2f million events per second: %.2f times as fast\n", a / 1e6, b / 1e6, a / b);
  const double cpu = median(otf2.cpu_s), wall = median(otf2.wall_s);
  const auto print_search = [&](const char* of, const Measured& search) {
    const double s = median(search.cpu_s), w = median(search.wall_s);
    std::printf(
        "search of the %s: %.2f s, %.2f s of CPU time; libotf2 reads the archive in %.2f s, %.2f s: %.2f and %.2f "
        "times that\n",
        of, w, s, wall, cpu, w / wall, s / cpu);
  };
  if (count == 3) print_search("experiment", search_of_native);
  print_search("archive", search_of_archive);
}
