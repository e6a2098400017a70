// Where a call has made others wait because its thread did not run, the cause of the waiting says so.
//
// In each round both ranks call MPI_Iprobe, which takes ten times as long on rank 1, and most of that off the CPU. Then
// rank 0 waits for the message of rank 1.

#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "archive/event_frames.hpp"
#include "archive/writer.hpp"
#include "events/message_numbers.hpp"
#include "offline/export/otf2.hpp"
#include "offline/patterns/analysis.hpp"
#include "tests/unit/archive/sample_job.hpp"
#include "tests/unit/archive/thread_peers.hpp"

namespace refrain::testing {
namespace {

using events::Kind;

constexpr std::int64_t off_cpu_rounds = 20, ticks_of_off_cpu_round = 2000, off_cpu_begin = 1'100'000;
constexpr std::int64_t probe_ticks = 100, late_probe_ticks = 1000, off_ns = 400;  // two ticks a nanosecond
enum ProbeNode : std::uint32_t { ProbeCall = 1, RecvCall, SendCall };

class LateProbe {
 public:
  explicit LateProbe(int rank) : rank_(rank), memory_(1 << 16) {
    buffer_.create(memory_, 0);
    for (std::int64_t i = 0; i < off_cpu_rounds; ++i) round(i);
    archive::Compressor compressor;
    platform::Bytes written;
    EXPECT_TRUE(archive::append_event_frame(buffer_.until(buffer_.end()), compressor, written));
    file_.assign(reinterpret_cast<const char*>(written.data()), written.size());
  }
  const std::string& file() const { return file_; }
  std::uint64_t records() const { return buffer_.count(); }
  std::int64_t mpi_ticks() const { return mpi_ticks_; }

 private:
  void round(std::int64_t number) {
    const bool is_late = rank_ == 1;
    const std::int64_t at = off_cpu_begin + number * ticks_of_off_cpu_round;
    call(ProbeCall, at + 100, at + 100 + (is_late ? late_probe_ticks : probe_ticks), is_late ? off_ns : 0);
    events::Record message;
    message.kind = is_late ? Kind::Send : Kind::Receive;
    message.peer = 1 - rank_;
    message.tag = 7;
    (is_late ? message.bytes_sent : message.bytes_received) = 100;
    const auto ordinal = static_cast<std::uint64_t>(number);
    numbers_.put(message, {ordinal, ordinal * events::hash_of_tag(message.tag)});
    EXPECT_TRUE(buffer_.append(message));
    if (is_late) call(SendCall, at + 1200, at + 1220, 0);
    else call(RecvCall, at + 220, at + 1300, 0);
  }
  void call(ProbeNode node, std::int64_t begin, std::int64_t end, std::int64_t off) {
    events::Record r;
    r.kind = Kind::Call;
    r.is_whole = true;
    r.node = node;
    r.begin = begin;
    r.time = end;
    r.off_ns = off;
    mpi_ticks_ += end - begin;
    EXPECT_TRUE(buffer_.append(r));
  }

  int rank_;
  std::vector<std::byte> memory_;
  events::Buffer buffer_;
  events::MessageNumbers numbers_;
  std::string file_;
  std::int64_t mpi_ticks_ = 0;
};

class ProbingRank {
 public:
  ProbingRank(int rank, const LateProbe& events) : sample_(rank, 2, {}), events_(events) {
    const Columns values(format::columns_of(NodeKind::Region), 1);
    sample_.add_thread(
        {{{region("MPI_Iprobe")}, values}, {{region("MPI_Recv")}, values}, {{region("MPI_Send")}, values}});
    sample_.add_communicator({0, -1, 0, 0, rank, 2, 0, "MPI_COMM_WORLD", {}}, {0, 1});
    archive::UnitRecord& unit = sample_.unit(0);
    unit.wall = 10 * events.mpi_ticks();
    unit.mpi = events.mpi_ticks();
  }
  archive::RankRecord& record() {
    archive::RankRecord& record = sample_.record();
    locations_.assign(record.locations.begin(), record.locations.end());
    locations_[0].events = {events_.records(), 0, 0};
    record.locations = locations_;
    record.event_mode = format::EventMode::All;
    record.event_bytes = events_.file().size();
    record.clock = 11;
    return record;
  }

 private:
  SampleRank sample_;
  const LateProbe& events_;
  std::vector<archive::LocationRecord> locations_;
};

patterns::CauseResults causes_in(const trace::Trace& trace) {
  const patterns::Naming naming{[](std::uint32_t path) { return path; },
                                [](std::uint32_t) { return std::vector<std::string>{"call"}; }};
  patterns::Request request;
  request.with_causes = true;
  return patterns::analyse(trace, naming, request).causes.value();
}
/// Of rank 1, the largest first.
std::vector<patterns::CauseResult> calls_among(const patterns::CauseResults& causes) {
  std::vector<patterns::CauseResult> calls;
  for (const patterns::CauseResult& of : causes.all) {
    if (of.activity.is_call && of.activity.location == 1) calls.push_back(of);
    EXPECT_TRUE(of.activity.is_call || !of.off_cpu_ns) << "samples tell that of a computation";
  }
  return calls;
}

TEST(OffCpuOfCauses, is_told_where_events_tell_it) {
  const ScratchDirectory scratch;
  const std::string directory = scratch.path + "/experiment";
  std::filesystem::create_directory(directory);
  put_manifest(directory, 2);
  const LateProbe events[2] = {LateProbe(0), LateProbe(1)};
  for (int rank = 0; rank < 2; ++rank)
    write_file(directory + "/events-" + std::to_string(rank) + ".refrain", events[rank].file());
  ASSERT_TRUE(write_job(directory, 2, [&](int rank) { return ProbingRank(rank, events[rank]); }));
  const auto trace = trace::Trace::open(experiment::Experiment::open(directory));
  ASSERT_EQ(trace->locations().size(), 2U);
  EXPECT_TRUE(trace->locations()[1].tells_off_cpu);
  const auto calls = calls_among(causes_in(*trace));
  ASSERT_GE(calls.size(), 2U);
  const patterns::CauseResult &probe = calls[0], &send = calls[1];
  ASSERT_TRUE(probe.off_cpu_ns && send.off_cpu_ns);
  EXPECT_GT(probe.ns, 0);
  EXPECT_NEAR(*probe.off_cpu_ns / probe.ns, 2.0 * off_ns / (late_probe_ticks - probe_ticks), 0.01);
  EXPECT_EQ(*send.off_cpu_ns, 0) << "it ran all the time";

  const std::string archive = scratch.path + "/archive";
  symbols::Symbolizer symbolizer;
  (void)exports::write_otf2(*trace, symbolizer, {archive});
  const auto exported = trace::Trace::open_archive(archive + "/traces.otf2");
  for (const patterns::CauseResult& of : calls_among(causes_in(*exported)))
    EXPECT_FALSE(of.off_cpu_ns) << "unknown is not zero";
}

}  // namespace
}  // namespace refrain::testing
