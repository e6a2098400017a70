#pragma once
/// Events of iterations of a marked loop, each with one call: all of them, or those that a sample keeps.

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "format/kept_iterations.hpp"
#include "record/frames.hpp"
#include "record/writer.hpp"
#include "tests/unit/record/sample_job.hpp"

namespace refrain::testing {

inline constexpr std::int64_t all_iterations = 512, ticks_of_iteration = 1000, first_tick = 1'100'000;
inline constexpr std::uint16_t marked_loop = 1024;  // a region that has no name
inline constexpr unsigned kept_level = 1;           // of the sample

inline bool is_at(unsigned level, std::int64_t iteration) {
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
      call.kind = events::Kind::Call;
      call.is_whole = true;
      call.node = 1;
      call.begin = begin + 100;
      call.time = begin + 200;
      EXPECT_TRUE(buffer.append(call));
      if (!is_marked) continue;
      events::Record span;
      span.kind = events::Kind::Span;
      span.region = marked_loop;
      span.value = i;
      span.begin = begin;
      span.time = begin + ticks_of_iteration;
      EXPECT_TRUE(buffer.append(span));
    }
    records_ = buffer.until(buffer.end()).count;
    EXPECT_TRUE(record::append_event_frame(buffer.until(buffer.end()), compressor_, written_));
  }
  std::string file() const { return {reinterpret_cast<const char*>(written_.data()), written_.size()}; }
  std::uint64_t records() const { return records_; }

 private:
  std::vector<std::byte> memory_;
  record::Compressor compressor_;
  platform::Bytes written_;
  std::uint64_t records_ = 0;
};

class MarkedRank {
 public:
  /// `functions`: of MPI, each called at a call path of its own; events are of the first one by name.
  MarkedRank(const MarkedEvents& events, bool is_sample, int rank = 0, int ranks = 1,
             const std::vector<std::string>& functions = {"MPI_Barrier"})
      : sample_(rank, ranks, {}), events_(events), is_sample_(is_sample) {
    Tree tree;
    for (const std::string& name : functions) tree[{region(name)}] = Columns(format::columns_of(NodeKind::Region), 1);
    sample_.add_thread(tree);
  }
  record::RankRecord& record() {
    record::RankRecord& record = sample_.record();
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
  record::EventLevel level_{marked_loop, kept_level};
  std::vector<record::LocationRecord> locations_;
};

}  // namespace refrain::testing
