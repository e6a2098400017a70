// The MPI adapter on its own: a runtime that only adds up, per MPI function, what the wrappers record, without call
// paths, clocks or files of Refrain. Preloaded into test programs.
//
// At MPI_Finalize every rank writes JSON to RECORDER_FILE.<rank>: {"functions": {"MPI_Send": [visits, messages_sent,
// bytes_sent, messages_received, bytes_received], ...}, "unmatched": [messages, bytes], "requests": entries left in the
// request table, "communicators": [...], "peers": true}. What a call completes counts as received by it here;
// "unmatched" is how much of it was not added to the calls that have begun it. "peers" is the outcome of an exchange
// with the neighbours through the adapter's Peers.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "adapters/mpi/requests/request_table.hpp"
#include "measurement/call_durations.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/clock.hpp"

namespace refrain::measurement {

constinit FirstThread first_thread{0, nullptr};
constinit thread_local Location* location_of_thread __attribute__((tls_model("initial-exec"))) = nullptr;
void (*say)(const char* line) = nullptr;
void note_unmeasured_call(RegionId) {}
std::atomic<bool> messages_go_uncounted{false};

namespace {

constexpr unsigned functions = 1024;
std::int64_t rows[functions][16];
std::int64_t begun[functions][16];  // what was added to the call that has begun an operation
alignas(Location) std::byte location_memory[sizeof(Location)];

/// A ring of messages of many sizes, to the right and from the left, and one that never comes.
bool exchange(const Peers& peers) {
  if (peers.size == 1) return true;
  const int right = (peers.rank + 1) % peers.size, left = (peers.rank + peers.size - 1) % peers.size;
  const std::int64_t deadline = platform::monotonic_ns() + 20'000'000'000;
  for (std::size_t bytes : {0ul, 1ul, 4096ul, 70'000ul, 5'000'000ul}) {
    platform::Bytes out, in;
    if (!out.resize(bytes) || !in.resize(3)) return false;
    std::memset(out.data(), peers.rank + 1, bytes);
    const bool first = peers.rank % 2 == 0;  // a send may wait for its receiver
    if (first && !peers.send(peers.state, right, out, deadline)) return false;
    if (!peers.receive(peers.state, left, in, deadline)) return false;
    if (!first && !peers.send(peers.state, right, out, deadline)) return false;
    if (in.size() != bytes + 3) return false;
    for (std::size_t i = 3; i < in.size(); ++i)
      if (in[i] != static_cast<std::byte>(left + 1)) return false;
  }
  if (!std::getenv("RECORDER_DEADLINE")) return true;
  platform::Bytes in;
  const std::int64_t begin = platform::monotonic_ns();
  const bool came = peers.receive(peers.state, left, in, begin + 50'000'000);
  return !came && platform::monotonic_ns() - begin >= 50'000'000;
}

void write_record(const MpiAdapter& adapter) {
  const char* path = std::getenv("RECORDER_FILE");
  if (!path) return;
  const bool good = exchange(adapter.peers);
  char name[4096];
  std::snprintf(name, sizeof name, "%s.%d", path, adapter.peers.rank);
  std::FILE* file = std::fopen(name, "w");
  if (!file) return;
  std::fprintf(file, "{\"functions\": {");
  const char* separator = "";
  std::int64_t messages_left = 0, bytes_left = 0;
  for (std::size_t i = 0; i < mpi_region_names.size(); ++i) {
    const std::int64_t* row = rows[i];
    if (!row[column_of(MetricId::Visits)]) continue;  // nothing can have begun there either
    std::fprintf(
        file, "%s\n\"%s\": [%lld, %lld, %lld, %lld, %lld]", separator, mpi_region_names[i],
        static_cast<long long>(row[column_of(MetricId::Visits)]),
        static_cast<long long>(row[column_of(MetricId::MessagesSent)]),
        static_cast<long long>(row[column_of(MetricId::BytesSent)]),
        static_cast<long long>(row[column_of(MetricId::MessagesReceived)] +
                               row[column_of(MetricId::MessagesCompleted)]),
        static_cast<long long>(row[column_of(MetricId::BytesReceived)] + row[column_of(MetricId::BytesCompleted)]));
    const std::int64_t* there = begun[i];
    messages_left += there[column_of(MetricId::MessagesReceived)] - row[column_of(MetricId::MessagesCompleted)];
    bytes_left += there[column_of(MetricId::BytesReceived)] + there[column_of(MetricId::BytesRead)] +
                  there[column_of(MetricId::BytesWritten)] - row[column_of(MetricId::BytesCompleted)];
    separator = ",";
  }
  std::fprintf(file, "},\n\"unmatched\": [%lld, %lld],\n", static_cast<long long>(messages_left),
               static_cast<long long>(bytes_left));
  std::fprintf(file, "\"requests\": %llu,\n\"peers\": %s,\n\"communicators\": [",
               static_cast<unsigned long long>(
                   adapters::mpi::request_table.count([](const adapters::mpi::TrackedRequest&) { return true; })),
               good ? "true" : "false");
  separator = "";
  for (const CommunicatorRecord& c : adapter.communicators()) {
    std::fprintf(file, "%s\n{\"id\": %d, \"parent\": %d, \"ordinal\": %d, \"leader\": %d, \"rank\": %d, \"size\": %d, ",
                 separator, c.id, c.parent, c.ordinal, c.leader, c.rank, c.size);
    std::fprintf(file, "\"remote_size\": %d, \"name\": \"%s\", \"members\": [", c.remote_size, c.name);
    for (std::size_t i = 0; i < c.members.size(); ++i) std::fprintf(file, "%s%d", i ? ", " : "", c.members[i]);
    std::fprintf(file, "]}");
    separator = ",";
  }
  std::fprintf(file, "]}\n");
  std::fclose(file);
}

[[gnu::constructor]] void start() {
  platform::start_clock();
  auto* location = reinterpret_cast<Location*>(location_memory);
  location->inside.store(Inside::User);
  location_of_thread = location;
  lifecycle.mpi_initialized = [](const MpiAdapter&) {};
  lifecycle.mpi_finalizing = write_record;
  lifecycle.mpi_aborting = [] {};
}

}  // namespace

std::int64_t* CallTree::values(NodeId node) { return begun[static_cast<std::uint32_t>(node)]; }

std::int64_t* values_of_other_thread(Location&, const BegunAt& begun_at) {
  return begun[static_cast<std::uint32_t>(begun_at.node)];
}

std::int64_t* enter_region_anew(Location& location, RegionId region, const platform::Registers&, unwind::Frame*) {
  location.call.node = NodeId{static_cast<std::uint32_t>(region)};
  return rows[static_cast<unsigned>(region)];
}

bool leave_abandoned_scope(Location&, const platform::Registers&) { return false; }
bool scope_is_gone(const Location&, std::uintptr_t) { return false; }
std::atomic<bool> calls_have_extras{true};  // so nobody asks the walker, which is not there
std::int64_t* enter_region_with_extras(Location& location, RegionId region, const platform::Registers& registers) {
  return enter_region_anew(location, region, registers, nullptr);
}
void charge_reading(Location&, bool, platform::Ticks, std::int64_t*) {}
bool wait_at_gate(Location&, Inside) { return true; }
void keep_up(Location&, Inside) {}
std::int64_t* row_of(Location&, const OpenCall& call) { return call.values; }
std::int64_t* row_after_cut(Location& location) { return location.call.values; }
void take_due_snapshot(Location&) {}
std::atomic<bool> durations_are_noted{false};
void note_rare_duration(Location&, platform::Ticks, waits::CallBin) {}
void take_back_timing(Location&) {}
void note_passed_call(Location&, const platform::Registers&) {}
void note_communication(Location&, events::Record&, const events::MessageNumber&) {}
void note_operation_of_all(Location&, std::uint64_t) {}
void note_call(Location&, platform::Ticks, bool) {}
void end_timed_call(Location&, platform::Ticks, platform::Ticks) {}
void look_at_call_end(Location&, platform::Ticks, platform::Ticks) {}
platform::Ticks look_at_call_begin(Location&, platform::Ticks now) { return now; }

}  // namespace refrain::measurement

namespace refrain::unwind {
std::atomic<std::uint64_t> forgotten_rules_count{0};
Frame* Walker::other_known_frame(std::uintptr_t, std::uintptr_t, std::uintptr_t) { return nullptr; }
}  // namespace refrain::unwind
