// A buffer holds complete records, in order; records without room are counted and reported.

#include "events/buffer.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace refrain::events {
namespace {

Record sample(std::int64_t time) {
  Record r;
  r.kind = Kind::Sample;
  r.node = static_cast<std::uint32_t>(time % 50);
  r.time = time;
  return r;
}

std::vector<Record> records_of(const Block& block) {
  std::vector<Record> records;
  Context context = block.begin;
  for (std::size_t at = 0; at < block.records.size();) {
    Record record;
    const std::size_t size = decode(block.records.subspan(at), context, record);
    EXPECT_GT(size, 0u);
    if (size == 0) break;
    at += size;
    records.push_back(record);
  }
  EXPECT_EQ(block.count, records.size());
  EXPECT_EQ(block.end, context.time);
  return records;
}

class BufferTest : public testing::Test {
 protected:
  void SetUp() override { buffer_.create(memory_, 3); }
  std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
  Buffer buffer_;
};

TEST_F(BufferTest, a_block_is_read_without_what_was_before) {
  for (int i = 1; i <= 100; ++i) ASSERT_TRUE(buffer_.append(sample(i * 1000)));
  const Buffer::Position middle = buffer_.end();
  for (int i = 101; i <= 150; ++i) ASSERT_TRUE(buffer_.append(sample(i * 1000)));
  EXPECT_EQ(100u, records_of(buffer_.until(middle)).size());
  const Buffer::Position begin = buffer_.remove(middle);
  EXPECT_EQ(0u, begin.size);
  const auto rest = records_of(buffer_.until(buffer_.end()));
  ASSERT_EQ(50u, rest.size());
  EXPECT_EQ(101'000, rest.front().time);
  EXPECT_EQ(150'000, rest.back().time);
  EXPECT_EQ(100u, buffer_.removed());
}

TEST_F(BufferTest, what_is_rewound_has_never_been) {
  ASSERT_TRUE(buffer_.append(sample(1000)));
  const Buffer::Position position = buffer_.end();
  for (int i = 2; i <= 60; ++i) ASSERT_TRUE(buffer_.append(sample(i * 1000)));
  buffer_.rewind(position);
  ASSERT_TRUE(buffer_.append(sample(99'000)));
  const auto records = records_of(buffer_.until(buffer_.end()));
  ASSERT_EQ(2u, records.size());
  EXPECT_EQ(99'000, records[1].time);
}

TEST_F(BufferTest, what_finds_no_room_is_told_before_the_next_record) {
  std::int64_t time = 0;
  std::uint64_t kept = 0;
  while (buffer_.append(sample(++time * 1000))) ++kept;
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(buffer_.append(sample(++time * 1000)));
  EXPECT_EQ(10u, buffer_.dropped());
  EXPECT_EQ(kept, records_of(buffer_.until(buffer_.end())).size());
  (void)buffer_.remove(buffer_.end());
  ASSERT_TRUE(buffer_.append(sample(++time * 1000)));
  const auto records = records_of(buffer_.until(buffer_.end()));
  ASSERT_EQ(2u, records.size());
  EXPECT_EQ(Kind::Gap, records[0].kind);
  EXPECT_EQ(10, records[0].value);
  EXPECT_EQ(time * 1000, records[1].time);
}

TEST_F(BufferTest, what_is_dropped_and_rewound_has_never_been) {
  while (buffer_.append(sample(1000))) {
  }
  const Buffer::Position position = buffer_.end();
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(buffer_.append(sample(2000)));
  EXPECT_EQ(10u, buffer_.dropped());
  buffer_.rewind(position);
  EXPECT_EQ(1u, buffer_.dropped());
  (void)buffer_.remove(buffer_.end());
  ASSERT_TRUE(buffer_.append(sample(3000)));
  const auto records = records_of(buffer_.until(buffer_.end()));
  ASSERT_EQ(2u, records.size());
  EXPECT_EQ(1, records[0].value) << "the gap before the place is still there";
}

TEST_F(BufferTest, ends_of_spans_find_room_when_calls_do_not) {
  const CallRecord call{true, 1, 1, 1000, 1000};
  while (buffer_.append(call)) {
  }
  Record span;
  span.kind = Kind::Span;
  span.time = 2000;
  EXPECT_TRUE(buffer_.append(span));
  const auto records = records_of(buffer_.until(buffer_.end()));
  EXPECT_EQ(Kind::Gap, records[records.size() - 2].kind);
  EXPECT_EQ(Kind::Span, records.back().kind);
}

TEST_F(BufferTest, communications_leave_room_for_their_call) {
  Record message;
  message.kind = Kind::Send;
  message.bytes_sent = 1;
  while (buffer_.append(message)) {
  }
  Record call;
  call.kind = Kind::Call;
  call.time = 5;
  EXPECT_TRUE(buffer_.append(call));
}

}  // namespace
}  // namespace refrain::events
