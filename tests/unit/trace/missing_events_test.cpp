// Where a frame of events is damaged, nothing is made up: no order of messages that was not, no pair of messages that
// was none, in the search for patterns and in an export.
//
// Two ranks play ping-pong, and meet in a barrier after each round: all messages are received in their order.

#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "events/message_numbers.hpp"
#include "offline/export/otf2.hpp"
#include "offline/patterns/analysis.hpp"
#include "record/frames.hpp"
#include "record/writer.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/thread_peers.hpp"

namespace refrain::testing {
namespace {

using events::Kind;

constexpr std::int64_t rounds_of_frame = 20, frames = 3, ticks_of_round = 2000, first_tick = 1'100'000;
constexpr std::int64_t location_begin = 1'050'000;  // ticks; the rank begins 25 us before, at 1,000,000
enum Node : std::uint32_t { Barrier = 1, Receive, Send };
constexpr std::int64_t bytes = 100;

/// One rank's events.
class PingPong {
 public:
  explicit PingPong(int rank) : rank_(rank), memory_(1 << 16) {
    events::Buffer buffer;
    buffer.create(memory_, 0);
    for (std::int64_t frame = 0; frame < frames; ++frame) {
      numbers_.forget();
      for (std::int64_t i = 0; i < rounds_of_frame; ++i) round(buffer, frame * rounds_of_frame + i);
      begins_.push_back(written_.size());
      records_ += buffer.until(buffer.end()).count;
      EXPECT_TRUE(record::append_event_frame(buffer.until(buffer.end()), compressor_, written_));
      (void)buffer.remove(buffer.end());
    }
  }

  std::string file(int damaged_frame) const {
    std::string text(reinterpret_cast<const char*>(written_.data()), written_.size());
    if (damaged_frame >= 0) {
      const std::size_t in_records = begins_[static_cast<std::size_t>(damaged_frame)] + format::event_head_size + 3;
      text[in_records] = static_cast<char>(text[in_records] ^ 1);
    }
    return text;
  }
  std::uint64_t records() const { return records_; }
  std::int64_t mpi_ticks() const { return mpi_ticks_; }

 private:
  void round(events::Buffer& buffer, std::int64_t number) {
    const std::int64_t at = first_tick + number * ticks_of_round;
    const bool is_first = rank_ == 0;
    message(buffer, is_first, number);
    if (is_first) call(buffer, Send, at + 200, at + 220);
    else call(buffer, Receive, at + 100, at + 300);
    message(buffer, !is_first, number);
    if (is_first) call(buffer, Receive, at + 230, at + 500);
    else call(buffer, Send, at + 400, at + 420);
    events::Record all = communication(Kind::Collective);
    all.peer = events::no_peer;
    numbers_.put(all, {static_cast<std::uint64_t>(number), 0});
    EXPECT_TRUE(buffer.append(all));
    call(buffer, Barrier, at + 600 + 10 * rank_, at + 700);
  }

  events::Record communication(Kind kind) const {
    events::Record r;
    r.kind = kind;
    r.communicator = 0;
    r.peer = 1 - rank_;
    return r;
  }
  void message(events::Buffer& buffer, bool is_send, std::int64_t number) {
    events::Record r = communication(is_send ? Kind::Send : Kind::Receive);
    r.tag = 7;
    (is_send ? r.bytes_sent : r.bytes_received) = bytes;
    const auto ordinal = static_cast<std::uint64_t>(number);
    numbers_.put(r, {ordinal, ordinal * events::hash_of_tag(r.tag)});
    EXPECT_TRUE(buffer.append(r));
  }
  void call(events::Buffer& buffer, Node node, std::int64_t begin, std::int64_t end) {
    events::Record r;
    r.kind = Kind::Call;
    r.is_whole = true;
    r.node = node;
    r.begin = begin;
    r.time = end;
    mpi_ticks_ += end - begin;
    EXPECT_TRUE(buffer.append(r));
  }

  int rank_;
  std::vector<std::byte> memory_;
  events::MessageNumbers numbers_;
  record::Compressor compressor_;
  platform::Bytes written_;
  std::vector<std::size_t> begins_;
  std::uint64_t records_ = 0;
  std::int64_t mpi_ticks_ = 0;
};

class Rank {
 public:
  Rank(int rank, const PingPong& events) : sample_(rank, 2, {}), events_(events) {
    const Columns values(format::columns_of(NodeKind::Region), 1);
    sample_.add_thread(
        {{{region("MPI_Barrier")}, values}, {{region("MPI_Recv")}, values}, {{region("MPI_Send")}, values}});
    sample_.add_communicator({0, -1, 0, 0, rank, 2, 0, "MPI_COMM_WORLD", {}}, {0, 1});
    record::UnitRecord& unit = sample_.unit(0);
    unit.wall = 10 * events.mpi_ticks();
    unit.mpi = events.mpi_ticks();
  }

  record::RankRecord& record() {
    record::RankRecord& record = sample_.record();
    locations_.assign(record.locations.begin(), record.locations.end());
    locations_[0].begin = location_begin;
    locations_[0].events = {events_.records(), 0, 0};
    record.locations = locations_;
    record.event_mode = format::EventMode::All;
    record.event_bytes = events_.file(-1).size();
    record.clock = 11;
    return record;
  }

 private:
  SampleRank sample_;
  const PingPong& events_;
  std::vector<record::LocationRecord> locations_;
};

class MissingEvents : public ::testing::Test {
 protected:
  /// Its first rank has lost that frame; -1: none.
  std::shared_ptr<const trace::Trace> experiment(int damaged_frame) {
    const std::string directory = scratch_.path + "/experiment" + std::to_string(damaged_frame);
    std::filesystem::create_directory(directory);
    put_manifest(directory, 2);
    const PingPong events[2] = {PingPong(0), PingPong(1)};
    for (int rank = 0; rank < 2; ++rank)
      write_file(directory + "/events-" + std::to_string(rank) + ".refrain",
                 events[rank].file(rank == 0 ? damaged_frame : -1));
    EXPECT_TRUE(write_job(directory, 2, [&](int rank) { return Rank(rank, events[rank]); }));
    return trace::Trace::open(experiment::Experiment::open(directory));
  }

  std::shared_ptr<const trace::Trace> exported(const trace::Trace& trace, std::uint64_t left_out) {
    const std::string directory = scratch_.path + "/archive" + std::to_string(++archives_);
    symbols::Symbolizer symbolizer;
    EXPECT_EQ(left_out, exports::write_otf2(trace, symbolizer, {directory}).left_out);
    return trace::Trace::open_archive(directory + "/traces.otf2");
  }

  static patterns::Analysis analysed(const trace::Trace& trace, const patterns::Request& request = {}) {
    const patterns::Naming naming{[](std::uint32_t path) { return path; },
                                  [](std::uint32_t) { return std::vector<std::string>{"call"}; }};
    return patterns::analyse(trace, naming, request);
  }
  static const patterns::PatternResult& pattern(const patterns::Analysis& analysis, std::string_view name) {
    return *std::ranges::find(analysis.patterns, name, [](const auto& of) { return std::string_view(of.about.name); });
  }
  static void expect_order(const patterns::Analysis& analysis) {
    for (const char* name : {"messages_in_wrong_order", "late_sender_wrong_order", "wrong_order_same_source",
                             "wrong_order_different_sources"})
      EXPECT_EQ(0, pattern(analysis, name).all.ns) << name;
  }

  ScratchDirectory scratch_;
  int archives_ = 0;
};

TEST_F(MissingEvents, all_is_there) {
  const auto trace = experiment(-1);
  const patterns::Analysis analysis = analysed(*trace);
  expect_order(analysis);
  EXPECT_EQ(frames * rounds_of_frame, static_cast<std::int64_t>(analysis.counts.collectives));
  EXPECT_EQ(1, pattern(analysis, "mpi").confidence);
  EXPECT_FALSE(pattern(analysis, "mpi").is_partial);
  const patterns::Analysis again = analysed(*exported(*trace, 0));
  EXPECT_EQ(pattern(analysis, "mpi").all.ns, pattern(again, "mpi").all.ns);
  EXPECT_EQ(pattern(analysis, "late_sender").all.ns, pattern(again, "late_sender").all.ns);
}

TEST_F(MissingEvents, make_no_other_order_of_messages) {
  for (int frame = 0; frame < frames; ++frame) {
    const patterns::Analysis analysis = analysed(*experiment(frame));
    EXPECT_EQ(1u, analysis.counts.gaps);
    EXPECT_EQ(2u * (frames - 1) * rounds_of_frame, analysis.counts.messages.paired);
    expect_order(analysis);
  }
}

TEST_F(MissingEvents, make_times_less_sure) {
  const auto trace = experiment(1);
  const patterns::Analysis analysis = analysed(*trace);
  EXPECT_EQ(1, pattern(analysis, "time").confidence);
  for (const char* name : {"mpi", "p2p", "barrier", "dominating_communication"}) {
    // In each round the first rank spends 390 ticks in MPI, the other one 310.
    EXPECT_NEAR(1 - 390.0 / 700 / frames, pattern(analysis, name).confidence, 1e-9) << name;
    EXPECT_TRUE(pattern(analysis, name).is_partial) << name;
  }
  // A part of the run with the gap, and one without.
  const std::int64_t end_ns = trace->end_ns();
  patterns::Request request;
  request.limits = {0, end_ns * 3 / 4};
  const double confidence = pattern(analysed(*trace, request), "mpi").confidence;
  EXPECT_LT(0.5, confidence);
  EXPECT_GE(0.99, confidence);
  request.limits = {end_ns - 1000 * rounds_of_frame / 2, end_ns};
  EXPECT_EQ(1, pattern(analysed(*trace, request), "mpi").confidence);
}

TEST_F(MissingEvents, stand_behind_the_begin_of_their_location) {
  const auto trace = experiment(0);
  const std::uint32_t first = 0;
  auto reader = trace->read({&first, 1}, 0);
  const trace::Event* event = reader.next();
  ASSERT_TRUE(event);
  EXPECT_EQ(trace::Type::Gap, event->type);
  EXPECT_EQ((location_begin - 1'000'000) / 2, event->time_ns);
}

TEST_F(MissingEvents, are_in_an_export_and_nothing_is_paired_over_them) {
  for (int frame = 0; frame < frames; ++frame) {
    const auto trace = experiment(frame);
    // Of the other rank: a send, a receive and a barrier in each round.
    const auto archive = exported(*trace, 3 * rounds_of_frame);
    std::vector<trace::Type> around;
    auto reader = archive->read();
    while (const trace::Event* event = reader.next())
      if (event->type == trace::Type::Gap || event->type == trace::Type::GapEnd) around.push_back(event->type);
    EXPECT_EQ(trace::Type::Gap, around.at(0));
    EXPECT_EQ(frame + 1 < frames ? 2u : 1u, around.size()) << "the last one has no end";

    const patterns::Analysis of_trace = analysed(*trace), of_archive = analysed(*archive);
    EXPECT_EQ(1u, of_archive.counts.gaps);
    EXPECT_EQ(0u, of_archive.counts.violations);
    EXPECT_EQ(of_trace.counts.messages.paired, of_archive.counts.messages.paired);
    EXPECT_EQ(of_trace.counts.collectives, of_archive.counts.collectives);
    EXPECT_EQ(0u, of_archive.counts.collectives_left_out);
    for (const char* name : {"late_sender", "wait_at_barrier", "p2p"})
      EXPECT_EQ(pattern(of_trace, name).all.ns, pattern(of_archive, name).all.ns) << name;
    EXPECT_GE(0.99, pattern(of_archive, "mpi").confidence);
  }
}

}  // namespace
}  // namespace refrain::testing
