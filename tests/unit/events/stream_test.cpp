// Events come out of a file in order of time, with calls inside calls; damaged parts are gaps.

#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include "events/metric_values.hpp"
#include "offline/trace/event_stream.hpp"
#include "record/frames.hpp"

namespace refrain::trace {
namespace {

using events::Kind;
using events::Record;

Record call(std::int64_t begin, std::int64_t end, bool is_within = false) {
  Record r;
  r.kind = Kind::Call;
  r.begin = begin;
  r.time = end;
  r.is_within = is_within;
  return r;
}
Record of_kind(Kind kind, std::int64_t time, bool is_within = false) {
  Record r;
  r.kind = kind;
  r.time = r.begin = time;
  r.is_within = is_within;
  return r;
}

class StreamTest : public testing::Test {
 protected:
  StreamTest() : directory_(testing::TempDir() + "events-of-" + std::to_string(getpid())) {
    std::filesystem::create_directories(directory_);
    rank_.events.emplace();
    rank_.events->mode = format::EventMode::All;
    rank_.events->last = {1'000'000, 1'000'000};
  }
  ~StreamTest() override { std::filesystem::remove_all(directory_); }

  /// Writes one frame of `thread`.
  void write(const std::vector<Record>& records, std::int32_t thread = 0) {
    write(records, thread, [](std::span<std::byte>) {});
  }
  /// The same after `change`, which gets the bytes of the records; the checksums are right.
  void write(const std::vector<Record>& records, std::int32_t thread,
             const std::function<void(std::span<std::byte>)>& change) {
    std::vector<std::byte> memory(1 << 16);
    events::Buffer buffer;
    buffer.create(memory, thread);
    for (const Record& record : records) ASSERT_TRUE(buffer.append(record));
    change(std::span(memory).first(buffer.size()));
    ASSERT_TRUE(record::append_event_frame(buffer.until(buffer.end()), compressor_, bytes_));
    frame_ends_.push_back(bytes_.size());
  }
  std::byte& byte_of(std::size_t frame, std::size_t at) {
    return bytes_.data()[(frame == 0 ? 0 : frame_ends_[frame - 1]) + at];
  }

  /// "enter 5, leave 9".
  std::string read(std::int32_t thread = 0) {
    {
      std::ofstream out(directory_ / "events-0.refrain", std::ios::binary);
      out.write(reinterpret_cast<const char*>(bytes_.data()), static_cast<std::streamsize>(bytes_.size()));
    }
    rank_.events->bytes = recorded_bytes_.value_or(bytes_.size());
    const auto file = std::make_shared<const experiment::EventFile>(directory_, rank_, damage_);
    const std::vector<std::uint32_t> paths{0};
    const RankClock clock(0, 0, 1'000'000, 1'000'000, 1e9);
    const std::vector<std::uint32_t> metrics{10, 11};
    EventStream stream(file, thread, 0, {paths, metrics, location_begin_}, clock);
    std::string text;
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    while (const Event* event = stream.next()) {
      EXPECT_LE(last, event->time_ns);
      last = event->time_ns;
      text += (text.empty() ? "" : ", ") + std::string(name_of(event->type)) + " " + std::to_string(event->time_ns);
      if (event->type == Type::Metric)
        text += " of " + std::to_string(event->record.node) + ": " + std::to_string(event->record.value);
    }
    return text;
  }

  std::filesystem::path directory_;
  experiment::Rank rank_;
  std::shared_ptr<experiment::DamageLog> damage_ = std::make_shared<experiment::DamageLog>();
  record::Compressor compressor_;
  platform::Bytes bytes_;
  std::vector<std::size_t> frame_ends_;
  std::int64_t location_begin_ = 0;
  std::optional<std::uint64_t> recorded_bytes_;  ///< size of the file in the rank's record; nothing: its true size
};

TEST_F(StreamTest, calls_within_a_call_come_behind_its_begin) {
  write({call(1, 2), call(20, 30, true), call(40, 50, true), call(10, 60), call(60, 70)});
  EXPECT_EQ("enter 1, leave 2, enter 10, enter 20, leave 30, enter 40, leave 50, leave 60, enter 60, leave 70", read());
}

TEST_F(StreamTest, a_span_may_end_within_a_call) {
  write({of_kind(Kind::Span, 20, true), of_kind(Kind::Span, 30, true), call(10, 40), of_kind(Kind::Span, 50)});
  EXPECT_EQ("enter 10, span_end 20, span_end 30, leave 40, span_end 50", read());
}

TEST_F(StreamTest, a_call_that_was_left_goes_on_as_long_as_what_it_has_called) {
  write({call(20, 30, true), call(10, 10), call(40, 50)});
  EXPECT_EQ("enter 10, enter 20, leave 30, leave 30, enter 40, leave 50", read());
}

TEST_F(StreamTest, a_sample_may_be_recorded_before_an_iteration_that_has_ended_before_it) {
  write({call(1, 2), of_kind(Kind::Sample, 12), of_kind(Kind::Span, 11), call(13, 14)});
  EXPECT_EQ("enter 1, leave 2, span_end 11, sample 12, enter 13, leave 14", read());
}

TEST_F(StreamTest, what_a_killed_process_has_written_behind_its_record_is_read_unless_it_is_of_a_sample) {
  write({call(1, 2)});
  write({call(3, 4)});
  recorded_bytes_ = frame_ends_[0];
  EXPECT_EQ("enter 1, leave 2, enter 3, leave 4", read());
  rank_.events->mode = format::EventMode::Sampled;
  EXPECT_EQ("enter 1, leave 2", read());
  EXPECT_EQ(0u, damage_->count());
}

TEST_F(StreamTest, what_a_call_moves_is_within_it) {
  Record sent = of_kind(Kind::Send, 0), received = of_kind(Kind::Receive, 0);
  write({received, sent, call(1, 5)});
  EXPECT_EQ("enter 1, communication 1, communication 5, leave 5", read());
}

/// Readings of one metric.
class Readings {
 public:
  Record reading(std::int64_t time, std::int64_t value, bool is_within = false, std::uint16_t metric = 0) {
    Record r = of_kind(Kind::Metric, time, is_within);
    r.region = metric;
    values_.put(r, value);
    return r;
  }
  void forget() { values_.forget(); }

 private:
  events::MetricValues values_;
};

TEST_F(StreamTest, metrics_come_before_a_call_begins_and_before_it_is_left) {
  Readings of;
  write({of.reading(4, 100), of.reading(20, 103, true), call(10, 20, true), of.reading(30, 107, true), call(5, 30),
         of.reading(39, 107), of.reading(50, 109, true), of_kind(Kind::Send, 0), call(40, 50), of.reading(51, 110)});
  EXPECT_EQ(
      "metric 4 of 10: 100, enter 5, enter 10, metric 20 of 10: 103, leave 20, metric 30 of 10: 107, leave 30, "
      "metric 39 of 10: 107, enter 40, communication 40, metric 50 of 10: 109, leave 50, metric 51 of 10: 110",
      read());
}

TEST_F(StreamTest, metrics_are_those_of_the_job_and_one_that_is_not_defined_is_unknown) {
  Readings of;
  write({of.reading(1, 5), of.reading(1, -7, false, 1), of.reading(1, 9, false, 2)});
  EXPECT_EQ("metric 1 of 10: 5, metric 1 of 11: -7, metric 1 of 4294967295: 9", read());
}

TEST_F(StreamTest, metrics_are_right_behind_what_is_missing) {
  Readings of;
  Record gap = of_kind(Kind::Gap, 2), jump = of_kind(Kind::Jump, 4);
  std::vector<Record> records{of.reading(1, 100), gap};
  of.forget();
  for (const Record& record : {of.reading(3, 200), of.reading(3, 201), jump}) records.push_back(record);
  of.forget();
  records.push_back(of.reading(5, 300));
  write(records);
  of.forget();
  write({of.reading(6, 400)});
  of.forget();
  write({of.reading(7, 500), of.reading(8, 501)});
  byte_of(1, format::event_head_size + 1) ^= std::byte{1};
  EXPECT_EQ(
      "metric 1 of 10: 100, gap 2, metric 3 of 10: 200, metric 3 of 10: 201, metric 5 of 10: 300, gap 5, "
      "metric 7 of 10: 500, metric 8 of 10: 501",
      read());
}

/// Bytes with a right checksum that no writer has written.
TEST_F(StreamTest, any_records_are_read_or_refused) {
  std::mt19937 random(1);
  std::size_t refused = 0;
  for (int run = 0; run < 500; ++run) {
    bytes_.clear();
    frame_ends_.clear();
    damage_ = std::make_shared<experiment::DamageLog>();
    Readings of;
    const std::vector<Record> records{of.reading(1, 100),
                                      call(2, 3, true),
                                      of.reading(4, 1 << 20, true),
                                      of_kind(Kind::Send, 0),
                                      call(2, 4),
                                      of.reading(5, 3, false, 15),
                                      of_kind(Kind::Sample, 6),
                                      of_kind(Kind::Gap, 7),
                                      of_kind(Kind::Jump, 8),
                                      of_kind(Kind::Mark, 8),
                                      of_kind(Kind::Span, 9),
                                      of_kind(Kind::Flush, 10)};
    write(records, 0, [&](std::span<std::byte> bytes) {
      for (unsigned n = 1 + random() % 3; n > 0; --n)
        bytes[random() % bytes.size()] = static_cast<std::byte>(random() % 3 == 0 ? 0x1f : random());
    });
    (void)read();
    refused += damage_->count() > 0;
  }
  EXPECT_GT(refused, 50u);
  EXPECT_LT(refused, 450u);
}

TEST_F(StreamTest, what_a_later_call_moves_is_within_it) {
  Record sent = of_kind(Kind::Send, 0), received = of_kind(Kind::Receive, 0);
  write({call(1, 2), received, sent, call(3, 5), call(6, 7)});
  EXPECT_EQ("enter 1, leave 2, enter 3, communication 3, communication 5, leave 5, enter 6, leave 7", read());
}

TEST_F(StreamTest, a_damaged_frame_is_a_gap_and_what_follows_is_read) {
  write({call(1, 2)});
  write({call(3, 4)});
  write({call(5, 6)});
  byte_of(1, format::event_head_size + 1) ^= std::byte{1};
  EXPECT_EQ("enter 1, leave 2, gap 2, enter 5, leave 6", read());
  EXPECT_EQ(1u, damage_->count());
}

TEST_F(StreamTest, a_first_frame_that_is_lost_is_a_gap_behind_the_begin_of_the_location) {
  write({call(11, 12)});
  write({call(15, 16)});
  byte_of(0, format::event_head_size + 1) ^= std::byte{1};
  location_begin_ = 10;
  EXPECT_EQ("gap 10, enter 15, leave 16", read());
  location_begin_ = 1000;  // as in a damaged profile: later than the events
  EXPECT_EQ("gap 12, enter 15, leave 16", read());
}

TEST_F(StreamTest, what_the_lost_call_has_moved_is_lost_with_it) {
  Record sent = of_kind(Kind::Send, 0), received = of_kind(Kind::Receive, 0);
  write({call(1, 2), sent, sent, sent});
  write({call(3, 4)});
  write({received, sent, call(5, 6)});
  byte_of(1, format::event_head_size + 1) ^= std::byte{1};
  EXPECT_EQ("enter 1, leave 2, gap 2, enter 5, communication 5, communication 6, leave 6", read());
}

TEST_F(StreamTest, many_communications_of_one_call) {
  std::vector<Record> records(1000, of_kind(Kind::Send, 0));
  records.push_back(call(1, 2));
  write(records);
  std::string expected = "enter 1";
  for (int i = 0; i < 1000; ++i) expected += ", communication 1";
  EXPECT_EQ(expected + ", leave 2", read());
}

TEST_F(StreamTest, what_is_received_comes_last_and_other_records_may_stand_between_it_and_its_call) {
  Record sent = of_kind(Kind::Send, 0), received = of_kind(Kind::Receive, 0);
  write({call(1, 2), received, sent, of_kind(Kind::Sample, 3), sent, call(4, 6), sent, call(7, 8)});
  EXPECT_EQ(
      "enter 1, leave 2, sample 3, enter 4, communication 4, communication 4, communication 6, leave 6, enter 7, "
      "communication 7, leave 8",
      read());
}

TEST_F(StreamTest, a_damaged_head_is_damage_whatever_it_says) {
  for (std::size_t at = 0; at < format::event_head_size; ++at) {
    bytes_.clear();
    frame_ends_.clear();
    damage_ = std::make_shared<experiment::DamageLog>();
    write({call(1, 2)});
    write({call(3, 4)});
    write({call(5, 6)});
    byte_of(1, at) ^= std::byte{4};
    EXPECT_EQ("enter 1, leave 2, enter 5, leave 6", read()) << "byte " << at;
    EXPECT_EQ(1u, damage_->count()) << "byte " << at;
  }
}

TEST_F(StreamTest, threads_have_frames_of_their_own) {
  write({call(1, 2)}, 0);
  write({call(3, 4)}, 7);
  write({call(5, 6)}, 0);
  EXPECT_EQ("enter 1, leave 2, enter 5, leave 6", read());
  EXPECT_EQ("enter 3, leave 4", read(7));
}

}  // namespace
}  // namespace refrain::trace
