// A trace that is opened as a smaller sample has the iterations that the nested sample has at a higher level, chosen by
// the number of records alone.
//
// A rank has iterations of a marked loop, each with one barrier.

#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "archive/event_frames.hpp"
#include "archive/writer.hpp"
#include "format/kept_iterations.hpp"
#include "offline/patterns/search.hpp"
#include "offline/trace/trace.hpp"
#include "tests/unit/archive/sample_job.hpp"
#include "tests/unit/archive/thread_peers.hpp"

namespace refrain::testing {
namespace {

using events::Kind;
using Numbers = std::set<std::int64_t>;

constexpr std::int64_t all_iterations = 512, ticks_of_iteration = 1000, first_tick = 1'100'000;
constexpr std::uint16_t marked_loop = 1024;  // a region that has no name
constexpr unsigned kept_level = 1;           // of the sample

bool is_at(unsigned level, std::int64_t iteration) {
  return format::KeptIterations{.level = level}.has(static_cast<std::uint64_t>(iteration));
}

/// Of all iterations, or of those that a sample keeps.
class MarkedEvents {
 public:
  MarkedEvents(bool is_marked, bool is_sample) : memory_(1 << 18) {
    events::Buffer buffer;
    buffer.create(memory_, 0);
    for (std::int64_t i = 0; i < all_iterations; ++i) {
      if (is_sample && !is_at(kept_level, i)) continue;
      const std::int64_t begin = first_tick + i * ticks_of_iteration;
      EXPECT_TRUE(!is_sample || buffer.append_jump(begin));
      events::Record call;
      call.kind = Kind::Call;
      call.is_whole = true;
      call.node = 1;
      call.begin = begin + 100;
      call.time = begin + 200;
      EXPECT_TRUE(buffer.append(call));
      if (!is_marked) continue;
      events::Record span;
      span.kind = Kind::Span;
      span.region = marked_loop;
      span.value = i;
      span.begin = begin;
      span.time = begin + ticks_of_iteration;
      EXPECT_TRUE(buffer.append(span));
    }
    records_ = buffer.until(buffer.end()).count;
    EXPECT_TRUE(archive::append_event_frame(buffer.until(buffer.end()), compressor_, written_));
  }
  std::string file() const { return {reinterpret_cast<const char*>(written_.data()), written_.size()}; }
  std::uint64_t records() const { return records_; }

 private:
  std::vector<std::byte> memory_;
  archive::Compressor compressor_;
  platform::Bytes written_;
  std::uint64_t records_ = 0;
};

class MarkedRank {
 public:
  MarkedRank(const MarkedEvents& events, bool is_sample) : sample_(0, 1, {}), events_(events), is_sample_(is_sample) {
    sample_.add_thread({{{region("MPI_Barrier")}, Columns(format::columns_of(NodeKind::Region), 1)}});
  }
  archive::RankRecord& record() {
    archive::RankRecord& record = sample_.record();
    locations_.assign(record.locations.begin(), record.locations.end());
    locations_[0].events = {events_.records(), 0, 0};
    record.locations = locations_;
    record.event_mode = is_sample_ ? format::EventMode::Sampled : format::EventMode::All;
    record.event_bytes = events_.file().size();
    record.event_levels = {&level_, is_sample_ ? 1U : 0U};
    record.events_agreed = true;
    record.clock = 11;
    return record;
  }

 private:
  SampleRank sample_;
  const MarkedEvents& events_;
  bool is_sample_;
  archive::EventLevel level_{marked_loop, kept_level};
  std::vector<archive::LocationRecord> locations_;
};

class ThinnedTrace : public ::testing::Test {
 protected:
  std::shared_ptr<const experiment::Experiment> experiment(bool is_marked, bool is_sample) {
    const std::string directory = scratch_.path + "/" + std::to_string(is_marked) + std::to_string(is_sample);
    std::filesystem::create_directory(directory);
    put_manifest(directory, 1);
    const MarkedEvents events(is_marked, is_sample);
    write_file(directory + "/events-0.refrain", events.file());
    EXPECT_TRUE(write_job(directory, 1, [&](int) { return MarkedRank(events, is_sample); }));
    return experiment::Experiment::open(directory);
  }
  static Numbers iterations(const trace::Trace& trace) {
    Numbers numbers;
    auto reader = trace.read();
    while (const trace::Event* event = reader.next())
      if (event->type == trace::Type::SpanEnd && event->record.region != 0) numbers.insert(event->record.value);
    return numbers;
  }
  ScratchDirectory scratch_;
};

TEST_F(ThinnedTrace, has_everything_where_that_fits) {
  const auto trace = trace::Trace::open_thinned(experiment(true, false), 2 * all_iterations);
  EXPECT_EQ(2U * all_iterations, trace->records());
  EXPECT_EQ(0U, trace->thinned());
  EXPECT_EQ(static_cast<std::size_t>(all_iterations), iterations(*trace).size());
  EXPECT_FALSE(patterns::is_sample_of_iterations(*trace));
}

TEST_F(ThinnedTrace, of_everything_has_the_smallest_level_that_fits) {
  const auto opened = experiment(true, false);
  for (unsigned level = 1; level < 5; ++level) {
    const auto trace = trace::Trace::open_thinned(opened, (2U * all_iterations) >> level);
    EXPECT_EQ(level, trace->thinned());
    EXPECT_TRUE(patterns::is_sample_of_iterations(*trace));
    const Numbers shown = iterations(*trace);
    for (std::int64_t i = 0; i < all_iterations; ++i) {
      // The others come before one of the sample.
      EXPECT_TRUE(shown.contains(i) ? is_at(level, i) || is_at(level, i + 1) : !is_at(level, i)) << level << " " << i;
    }
  }
}

TEST_F(ThinnedTrace, of_a_sample_has_a_part_of_it) {
  const auto opened = experiment(true, true);
  const auto whole = trace::Trace::open(opened), part = trace::Trace::open_thinned(opened, whole->records() / 4);
  const Numbers kept = iterations(*whole), shown = iterations(*part);
  EXPECT_EQ(static_cast<std::size_t>(all_iterations) >> kept_level, kept.size());
  EXPECT_EQ(2U, part->thinned());
  for (const std::int64_t i : kept)
    EXPECT_EQ(is_at(kept_level + 2, i) || is_at(kept_level + 2, i + 1), shown.contains(i)) << i;
}

TEST_F(ThinnedTrace, needs_iterations) {
  const auto opened = experiment(false, false);
  EXPECT_NO_THROW(trace::Trace::open_thinned(opened, all_iterations));
  EXPECT_THROW(trace::Trace::open_thinned(opened, all_iterations - 1), std::invalid_argument);
}

}  // namespace
}  // namespace refrain::testing
