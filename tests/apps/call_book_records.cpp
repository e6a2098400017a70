// The events of a rank, for the test call_book: a line for each call, and before it one for each thing that the call
// communicates, begins or completes. Usage: call_book_records EXPERIMENT RANK
//
//   did KIND PHASE PEER TAG COMMUNICATOR REQUEST THREAD NODE SENT RECEIVED
//   call FUNCTION THREAD NODE BEGIN END WHOLE

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "offline/experiment/experiment.hpp"
#include "offline/trace/event.hpp"
#include "offline/trace/trace.hpp"

namespace {

using namespace refrain;

std::string line_of(const events::Record& r) {
  const bool has_tag = events::is_message(r.kind) || r.kind == events::Kind::Synchronization;
  char line[512];
  std::snprintf(line, sizeof line, "did %s %s %d %d %d %llu %d %u %lld %lld\n", trace::name_of(r.kind),
                trace::name_of(r.phase), r.peer, has_tag ? r.tag : events::any_tag, r.communicator,
                static_cast<unsigned long long>(r.request), r.begun_thread, r.begun_node,
                static_cast<long long>(r.bytes_sent), static_cast<long long>(r.bytes_received));
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  const std::int32_t rank = std::atoi(argv[2]);
  const auto trace =
      trace::Trace::open(experiment::Experiment::open(argv[1], true), [&](std::int32_t of) { return of == rank; });
  if (!trace) return 1;
  std::map<std::uint32_t, std::string> done;  // by the call in progress, by location
  auto reader = trace->read();
  while (const trace::Event* event = reader.next()) {
    const events::Record& r = event->record;
    std::string& of_call = done[event->location];
    if (event->type == trace::Type::Communication) of_call += line_of(r);
    else if (event->type == trace::Type::Gap) of_call += "gap\n";
    if (event->type != trace::Type::Leave) continue;
    std::printf("%scall %s %d %u %lld %lld %d\n", of_call.c_str(), trace->region_of(event->path).c_str(),
                trace->locations()[event->location].thread, r.node, static_cast<long long>(r.begin),
                static_cast<long long>(r.time), r.is_whole);
    of_call.clear();
  }
  return 0;
}
