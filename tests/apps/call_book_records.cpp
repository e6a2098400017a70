// Prints the records of calls that an experiment has of a rank, for the test call_book. Times are ticks of the rank.
//
//     call_book_records EXPERIMENT RANK
//
//   did KIND PHASE PEER TAG COMMUNICATOR REQUEST THREAD NODE SENT RECEIVED     THREAD, NODE: where it was begun
//   call FUNCTION THREAD NODE BEGIN END WHOLE

#include <cstdio>
#include <cstdlib>

#include "offline/trace/trace.hpp"

using namespace refrain;
using events::Kind, events::Record, trace::Type;

namespace {

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::Send: return "send";
    case Kind::Receive: return "receive";
    case Kind::Collective: return "collective";
    case Kind::OneSided: return "one-sided";
    case Kind::Read: return "read";
    case Kind::Write: return "write";
    case Kind::Communicator: return "communicator";
    case Kind::Synchronization: return "synchronization";
    default: return "generalized";
  }
}

void print(const Record& r) {
  constexpr const char* phases[] = {"whole", "begun", "completed", "cancelled"};
  const bool has_tag = events::is_message(r.kind) || r.kind == Kind::Synchronization;
  std::printf("did %s %s %d %d %d %llu %d %u %lld %lld\n", name_of(r.kind), phases[static_cast<int>(r.phase)], r.peer,
              has_tag ? r.tag : events::any_tag, r.communicator, static_cast<unsigned long long>(r.request),
              r.begun_thread, r.begun_node, static_cast<long long>(r.bytes_sent),
              static_cast<long long>(r.bytes_received));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int rank = std::atoi(argv[2]);
  const auto trace =
      trace::Trace::open(experiment::Experiment::open(argv[1]), [&](std::int32_t each) { return each == rank; });
  if (!trace) return 1;
  auto reader = trace->read();
  while (const trace::Event* event = reader.next()) {
    const Record& r = event->record;
    if (event->type == Type::Communication) print(r);
    if (event->type != Type::Leave) continue;
    std::printf("call %s %d %u %lld %lld %d\n", trace->region_of(event->path).c_str(),
                trace->locations()[event->location].thread, r.node, static_cast<long long>(r.begin),
                static_cast<long long>(r.time), r.is_whole);
  }
}
