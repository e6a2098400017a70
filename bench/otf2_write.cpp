// Compares the export of an experiment with a bare loop that writes the same records with libotf2's functions. The two
// run in turn. The loop has its records in memory; they are read from the exported archive once. Makes both archives in
// DIRECTORY and removes them. Usage: otf2_write EXPERIMENT DIRECTORY

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <otf2/otf2.h>
#include <string>
#include <vector>

#include "offline/export/otf2.hpp"
#include "offline/trace/trace.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using refrain::trace::Trace;

enum class Kind : std::uint8_t {
  Enter,
  Leave,
  Send,
  Isend,
  IsendComplete,
  IrecvRequest,
  Irecv,
  Recv,
  CollectiveBegin,
  CollectiveEnd,
  Sample,
  Parameter,
  Flush
};

struct Record {
  Kind kind;
  std::uint8_t operation;
  std::uint32_t first, second, third;
  std::uint64_t time, bytes, number;
};
struct Location {
  OTF2_LocationRef self;
  std::vector<Record> records;
};

std::vector<Location> locations;

// ---- reading ----

void keep(void* of, Record record) { static_cast<Location*>(of)->records.push_back(record); }
constexpr auto good = OTF2_CALLBACK_SUCCESS;
using Time = OTF2_TimeStamp;
using Attributes = OTF2_AttributeList*;

OTF2_CallbackCode enter(OTF2_LocationRef, Time t, std::uint64_t, void* of, Attributes, OTF2_RegionRef region) {
  return keep(of, {Kind::Enter, 0, region, 0, 0, t, 0, 0}), good;
}
OTF2_CallbackCode leave(OTF2_LocationRef, Time t, std::uint64_t, void* of, Attributes, OTF2_RegionRef region) {
  return keep(of, {Kind::Leave, 0, region, 0, 0, t, 0, 0}), good;
}
template <Kind kind>
OTF2_CallbackCode message(OTF2_LocationRef, Time t, std::uint64_t, void* of, Attributes, std::uint32_t peer,
                          OTF2_CommRef comm, std::uint32_t tag, std::uint64_t bytes) {
  return keep(of, {kind, 0, peer, comm, tag, t, bytes, 0}), good;
}
template <Kind kind>
OTF2_CallbackCode with_request(OTF2_LocationRef, Time t, std::uint64_t, void* of, Attributes, std::uint32_t peer,
                               OTF2_CommRef comm, std::uint32_t tag, std::uint64_t bytes, std::uint64_t number) {
  return keep(of, {kind, 0, peer, comm, tag, t, bytes, number}), good;
}
template <Kind kind>
OTF2_CallbackCode of_request(OTF2_LocationRef, Time t, std::uint64_t, void* of, Attributes, std::uint64_t number) {
  return keep(of, {kind, 0, 0, 0, 0, t, 0, number}), good;
}
OTF2_CallbackCode collective_begin(OTF2_LocationRef, Time t, std::uint64_t, void* of, Attributes) {
  return keep(of, {Kind::CollectiveBegin, 0, 0, 0, 0, t, 0, 0}), good;
}
OTF2_CallbackCode collective_end(OTF2_LocationRef, Time t, std::uint64_t, void* of, Attributes, OTF2_CollectiveOp what,
                                 OTF2_CommRef comm, std::uint32_t root, std::uint64_t sent, std::uint64_t received) {
  return keep(of, {Kind::CollectiveEnd, what, comm, root, 0, t, sent, received}), good;
}
OTF2_CallbackCode sample(OTF2_LocationRef, Time t, std::uint64_t, void* of, Attributes, OTF2_CallingContextRef context,
                         std::uint32_t distance, OTF2_InterruptGeneratorRef generator) {
  return keep(of, {Kind::Sample, 0, context, distance, generator, t, 0, 0}), good;
}
OTF2_CallbackCode parameter(OTF2_LocationRef, Time t, std::uint64_t, void* of, Attributes, OTF2_ParameterRef self,
                            std::int64_t value) {
  return keep(of, {Kind::Parameter, 0, self, 0, 0, t, 0, static_cast<std::uint64_t>(value)}), good;
}
OTF2_CallbackCode flush(OTF2_LocationRef, Time t, std::uint64_t, void* of, Attributes, Time end) {
  return keep(of, {Kind::Flush, 0, 0, 0, 0, t, 0, end}), good;
}
OTF2_CallbackCode take_location(void* reader, OTF2_LocationRef self, OTF2_StringRef, OTF2_LocationType, std::uint64_t,
                                OTF2_LocationGroupRef) {
  OTF2_Reader_SelectLocation(static_cast<OTF2_Reader*>(reader), self);
  locations.push_back({self, {}});
  return good;
}

/// Returns the number of records. Leaves out records of other kinds than those above.
std::uint64_t read_records(const std::string& anchor) {
  OTF2_Reader* reader = OTF2_Reader_Open(anchor.c_str());
  if (!reader) return 0;
  OTF2_Reader_SetSerialCollectiveCallbacks(reader);
  std::uint64_t read = 0, all = 0;
  OTF2_GlobalDefReader* definitions = OTF2_Reader_GetGlobalDefReader(reader);
  OTF2_GlobalDefReaderCallbacks* of_definitions = OTF2_GlobalDefReaderCallbacks_New();
  OTF2_GlobalDefReaderCallbacks_SetLocationCallback(of_definitions, take_location);
  OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, of_definitions, reader);
  OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &read);
  OTF2_Reader_OpenEvtFiles(reader);
  OTF2_EvtReaderCallbacks* of_events = OTF2_EvtReaderCallbacks_New();
  OTF2_EvtReaderCallbacks_SetEnterCallback(of_events, enter);
  OTF2_EvtReaderCallbacks_SetLeaveCallback(of_events, leave);
  OTF2_EvtReaderCallbacks_SetMpiSendCallback(of_events, message<Kind::Send>);
  OTF2_EvtReaderCallbacks_SetMpiRecvCallback(of_events, message<Kind::Recv>);
  OTF2_EvtReaderCallbacks_SetMpiIsendCallback(of_events, with_request<Kind::Isend>);
  OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(of_events, with_request<Kind::Irecv>);
  OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(of_events, of_request<Kind::IsendComplete>);
  OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(of_events, of_request<Kind::IrecvRequest>);
  OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback(of_events, collective_begin);
  OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(of_events, collective_end);
  OTF2_EvtReaderCallbacks_SetCallingContextSampleCallback(of_events, sample);
  OTF2_EvtReaderCallbacks_SetParameterIntCallback(of_events, parameter);
  OTF2_EvtReaderCallbacks_SetBufferFlushCallback(of_events, flush);
  for (Location& location : locations) {
    OTF2_EvtReader* events = OTF2_Reader_GetEvtReader(reader, location.self);
    OTF2_Reader_RegisterEvtCallbacks(reader, events, of_events, &location);
    OTF2_Reader_ReadAllLocalEvents(reader, events, &read);
    OTF2_Reader_CloseEvtReader(reader, events);
    all += location.records.size();
  }
  OTF2_Reader_Close(reader);
  return all;
}

// ---- writing ----

OTF2_FlushType flush_always(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }

void write_record(OTF2_EvtWriter* out, const Record& r) {
  switch (r.kind) {
    case Kind::Enter: OTF2_EvtWriter_Enter(out, nullptr, r.time, r.first); return;
    case Kind::Leave: OTF2_EvtWriter_Leave(out, nullptr, r.time, r.first); return;
    case Kind::Send: OTF2_EvtWriter_MpiSend(out, nullptr, r.time, r.first, r.second, r.third, r.bytes); return;
    case Kind::Recv: OTF2_EvtWriter_MpiRecv(out, nullptr, r.time, r.first, r.second, r.third, r.bytes); return;
    case Kind::Isend:
      OTF2_EvtWriter_MpiIsend(out, nullptr, r.time, r.first, r.second, r.third, r.bytes, r.number);
      return;
    case Kind::Irecv:
      OTF2_EvtWriter_MpiIrecv(out, nullptr, r.time, r.first, r.second, r.third, r.bytes, r.number);
      return;
    case Kind::IsendComplete: OTF2_EvtWriter_MpiIsendComplete(out, nullptr, r.time, r.number); return;
    case Kind::IrecvRequest: OTF2_EvtWriter_MpiIrecvRequest(out, nullptr, r.time, r.number); return;
    case Kind::CollectiveBegin: OTF2_EvtWriter_MpiCollectiveBegin(out, nullptr, r.time); return;
    case Kind::CollectiveEnd:
      OTF2_EvtWriter_MpiCollectiveEnd(out, nullptr, r.time, r.operation, r.first, r.second, r.bytes, r.number);
      return;
    case Kind::Sample: OTF2_EvtWriter_CallingContextSample(out, nullptr, r.time, r.first, r.second, r.third); return;
    case Kind::Parameter:
      OTF2_EvtWriter_ParameterInt(out, nullptr, r.time, r.first, static_cast<std::int64_t>(r.number));
      return;
    case Kind::Flush: OTF2_EvtWriter_BufferFlush(out, nullptr, r.time, r.number); return;
  }
}

void write_bare(const std::string& directory) {
  static const OTF2_FlushCallbacks callbacks{flush_always, nullptr};
  OTF2_Archive* archive = OTF2_Archive_Open(directory.c_str(), "traces", OTF2_FILEMODE_WRITE, std::uint64_t{1} << 20,
                                            std::uint64_t{4} << 20, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  OTF2_Archive_SetFlushCallbacks(archive, &callbacks, nullptr);
  OTF2_Archive_SetSerialCollectiveCallbacks(archive);
  OTF2_Archive_OpenEvtFiles(archive);
  for (const Location& location : locations) {
    OTF2_EvtWriter* out = OTF2_Archive_GetEvtWriter(archive, location.self);
    for (const Record& record : location.records) write_record(out, record);
    OTF2_Archive_CloseEvtWriter(archive, out);
  }
  OTF2_Archive_CloseEvtFiles(archive);
  OTF2_Archive_Close(archive);
}

std::uint64_t write_export(const char* experiment, const std::string& directory) {
  const auto trace = Trace::open(refrain::experiment::Experiment::open(experiment));
  if (!trace) return 0;
  refrain::symbols::Symbolizer symbolizer;
  return refrain::exports::write_otf2(*trace, symbolizer, {.directory = directory}).events;
}

struct Seconds {
  std::vector<double> elapsed, cpu;  ///< by run; CPU time is the sum over all threads

  template <class Write>
  void add(Write&& write) {
    const std::clock_t cpu_begin = std::clock();
    const auto begin = Clock::now();
    write();
    elapsed.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    cpu.push_back(static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC);
  }
};

double median(std::vector<double> of) {
  std::ranges::sort(of);
  return of[of.size() / 2];
}

void print(const char* what, double events, const std::vector<double>& of_export, const std::vector<double>& of_bare) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < of_export.size(); ++i) ratios.push_back(of_export[i] / of_bare[i]);
  std::printf("%s: export %.3f s (%.1f ns an event), bare libotf2 %.3f s (%.1f ns): %.2f times\n", what,
              median(of_export), median(of_export) / events * 1e9, median(of_bare), median(of_bare) / events * 1e9,
              median(ratios));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return std::fprintf(stderr, "usage: otf2_write EXPERIMENT DIRECTORY\n"), 1;
  const std::string exported = std::string(arguments[2]) + "/exported", bare = std::string(arguments[2]) + "/bare";
  const std::uint64_t events = write_export(arguments[1], exported);
  if (read_records(exported + "/traces.otf2") != events || events == 0)
    return std::fprintf(stderr, "the archive has records that the loop does not write\n"), 1;
  Seconds of_export, of_bare;
  for (int i = 0; i < 7; ++i) {
    std::filesystem::remove_all(exported);
    of_export.add([&] { (void)write_export(arguments[1], exported); });
    std::filesystem::remove_all(bare);
    of_bare.add([&] { write_bare(bare); });
  }
  for (const std::string& directory : {exported, bare}) std::filesystem::remove_all(directory);
  std::printf("%.2f million events\n", static_cast<double>(events) / 1e6);
  print("elapsed", static_cast<double>(events), of_export.elapsed, of_bare.elapsed);
  print("CPU time", static_cast<double>(events), of_export.cpu, of_bare.cpu);
}
