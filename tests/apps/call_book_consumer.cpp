// A consumer of records for the test call_book: writes every one, as it comes, into CALL_BOOK.<pid>. It is linked into
// a runtime of its own, beside what every runtime consists of.
//
//   did KIND PHASE PEER TAG COMMUNICATOR REQUEST THREAD NODE SENT RECEIVED
//   call FUNCTION THREAD NODE BEGIN END WHOLE

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include "measurement/consumers.hpp"
#include "measurement/lifecycle.hpp"

namespace {

using namespace refrain::measurement;

int book = -1;

void write_call(Location& location, const CallRecord& call) {
  dprintf(book, "call %s %d %u %lld %lld %d\n", mpi_region_names[static_cast<unsigned>(call.region)], location.thread,
          static_cast<unsigned>(call.node), static_cast<long long>(call.begin), static_cast<long long>(call.end),
          call.is_whole);
}

void write_communication(Location&, const Communication& c) {
  static const char* const kinds[] = {"send", "receive", "collective",   "one-sided",
                                      "read", "write",   "communicator", "generalized"};
  const bool is_synchronization = c.kind == Communication::Kind::Synchronization;
  static const char* const phases[] = {"whole", "begun", "completed", "cancelled"};
  dprintf(book, "did %s %s %d %d %d %llu %d %u %lld %lld\n",
          is_synchronization ? "synchronization" : kinds[static_cast<int>(c.kind)], phases[static_cast<int>(c.phase)],
          c.peer, c.tag, c.communicator, static_cast<unsigned long long>(c.request), c.begun.thread,
          static_cast<unsigned>(c.begun.node), static_cast<long long>(c.bytes_sent),
          static_cast<long long>(c.bytes_received));
}

[[gnu::constructor(101)]] void begin() {
  const char* path = std::getenv("CALL_BOOK");
  if (!path) return;
  char name[4096];
  std::snprintf(name, sizeof name, "%s.%d", path, getpid());
  book = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  add_consumer({.call = write_call, .communication = write_communication}, {Wish::Calls});
}

}  // namespace
