// Readings of metrics come back as they were put, through encoded records, wherever reading begins.

#include "events/metric_values.hpp"

#include <array>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "events/codec.hpp"

namespace refrain::events {
namespace {

Record reading(unsigned metric, std::int64_t time) {
  Record r;
  r.kind = Kind::Metric;
  r.region = static_cast<std::uint16_t>(metric);
  r.time = time;
  return r;
}

/// A writer and a reader together.
class Both {
 public:
  std::int64_t there_and_back(unsigned metric, std::int64_t value) {
    Record record = reading(metric, ++time_);
    writer_.put(record, value);
    std::array<std::byte, longest_record> bytes;
    size_ = encode(record, written_, bytes.data());
    Record back;
    EXPECT_EQ(size_, decode(std::span(bytes).first(size_), read_, back));
    EXPECT_EQ(metric, back.region);
    return reader_.take(back);
  }
  void writer_forgets() { writer_.forget(); }
  void reader_forgets() { reader_.forget(); }
  std::size_t size() const { return size_; }

 private:
  MetricValues writer_, reader_;
  Context written_, read_;
  std::int64_t time_ = 0;
  std::size_t size_ = 0;
};

TEST(MetricValues, come_back_whatever_they_are) {
  std::mt19937_64 random(1);
  Both both;
  for (int i = 0; i < 10'000; ++i) {
    const auto metric = static_cast<unsigned>(random() % max_metrics);
    std::int64_t value = static_cast<std::int64_t>(random());
    if (i % 5 == 0) value = std::numeric_limits<std::int64_t>::min();
    if (i % 5 == 1) value = std::numeric_limits<std::int64_t>::max();
    ASSERT_EQ(value, both.there_and_back(metric, value)) << i;
    if (i % 7 == 0) both.writer_forgets();
  }
}

TEST(MetricValues, what_has_hardly_grown_takes_four_bytes) {
  Both both;
  (void)both.there_and_back(0, 1'000'000'000'000);
  EXPECT_GT(both.size(), 8u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(1'000'000'000'000 + i, both.there_and_back(0, 1'000'000'000'000 + i));
    EXPECT_EQ(4u, both.size());
  }
}

TEST(MetricValues, a_reader_that_knows_nothing_begins_where_the_writer_begins_anew) {
  Both both;
  for (unsigned metric = 0; metric < 3; ++metric) (void)both.there_and_back(metric, 1000 * (metric + 1));
  EXPECT_EQ(1001, both.there_and_back(0, 1001));
  both.reader_forgets();
  EXPECT_NE(2005, both.there_and_back(1, 2005)) << "a difference, from what the reader does not know";
  both.writer_forgets();
  both.reader_forgets();
  for (unsigned metric = 0; metric < 3; ++metric)
    EXPECT_EQ(3000 * metric, both.there_and_back(metric, 3000 * metric)) << metric;
}

}  // namespace
}  // namespace refrain::events
