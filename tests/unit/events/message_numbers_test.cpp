// Numbers of messages come back as they were put, through encoded records; the reader gets none that it cannot know.

#include "events/message_numbers.hpp"

#include <array>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <tuple>

#include "events/codec.hpp"

namespace refrain::events {
namespace {

Record message(Kind kind, std::int32_t peer, std::int32_t tag) {
  Record r;
  r.kind = kind;
  r.peer = peer;
  r.tag = tag;
  (kind == Kind::Send ? r.bytes_sent : r.bytes_received) = 8;
  return r;
}

/// A writer and a reader together.
class Both {
 public:
  MessageNumber there_and_back(Record record, const MessageNumber& number) {
    writer_.put(record, number);
    std::array<std::byte, longest_record> bytes;
    size_ = encode(record, written_, bytes.data());
    Record back;
    EXPECT_EQ(size_, decode(std::span(bytes).first(size_), read_, back));
    return reader_.take(back);
  }
  void forget() {
    writer_.forget();
    reader_.forget();
  }
  void reader_forgets() { reader_.forget(); }
  std::size_t size() const { return size_; }

 private:
  MessageNumbers writer_, reader_;
  Context written_, read_;
  std::size_t size_ = 0;
};

TEST(MessageNumbers, come_back_whatever_was_before) {
  Both both;
  std::mt19937_64 random(1);
  std::map<std::tuple<bool, std::int32_t, std::uint32_t>, MessageNumber> next;
  for (int i = 0; i < 200'000; ++i) {
    const bool is_receive = random() % 2 == 0;
    const auto peer = static_cast<std::int32_t>(random() % 40);
    const auto tag = static_cast<std::int32_t>(random() % (peer < 20 ? 3 : 300));
    MessageNumber& of = next.try_emplace({is_receive, peer, tag_bucket(tag)}, MessageNumber{0, 0}).first->second;
    const Record record = message(is_receive ? Kind::Receive : Kind::Send, peer, tag);
    const MessageNumber number = random() % 50 == 0 ? MessageNumber{} : of;
    ASSERT_EQ(number, both.there_and_back(record, number)) << i;
    // Now and then an earlier receive completes first, or a span is missing.
    of = {of.ordinal + 1, of.tags_before + hash_of_tag(tag)};
    if (random() % 100 == 0) both.forget();
    if (random() % 20 == 0) of.ordinal += random() % 5;
  }
}

TEST(MessageNumbers, of_collective_operations_count_on_whatever_the_root) {
  Both both;
  std::mt19937_64 random(2);
  std::array<std::uint64_t, 5> next{};
  for (int i = 0; i < 100'000; ++i) {
    Record record;
    record.kind = Kind::Collective;
    record.phase = random() % 3 == 0 ? Phase::Begun : Phase::Whole;
    record.communicator = static_cast<std::int32_t>(random() % next.size());
    record.peer = static_cast<std::int32_t>(random() % 8) - 3;
    record.tag = any_tag;
    std::uint64_t& of = next[static_cast<std::size_t>(record.communicator)];
    const MessageNumber number = random() % 50 == 0 ? MessageNumber{} : MessageNumber{of, 0};
    ASSERT_EQ(number, both.there_and_back(record, number)) << i;
    ++of;
    if (random() % 100 == 0) both.forget();
    // A message on the same communicator changes nothing.
    const Record other = message(Kind::Send, record.peer, 31);
    ASSERT_EQ((MessageNumber{5, 5 * hash_of_tag(31)}), both.there_and_back(other, {5, 5 * hash_of_tag(31)}));
  }
}

TEST(MessageNumbers, take_no_byte_when_they_go_on) {
  Both both;
  Record none = message(Kind::Send, 3, 1);
  (void)both.there_and_back(none, {1000, 1000 * hash_of_tag(1)});
  const std::size_t first = both.size();
  for (std::uint64_t i = 1001; i < 1100; ++i) {
    EXPECT_EQ((MessageNumber{i, i * hash_of_tag(1)}), both.there_and_back(none, {i, i * hash_of_tag(1)}));
    EXPECT_EQ(first - 2, both.size());
  }
  // A different number first, then the one that was left out.
  EXPECT_EQ(1101u, both.there_and_back(none, {1101, 1101 * hash_of_tag(1)}).ordinal);
  EXPECT_EQ(first - 1, both.size());
  EXPECT_EQ(1100u, both.there_and_back(none, {1100, 1100 * hash_of_tag(1)}).ordinal);
}

TEST(MessageNumbers, a_reader_that_knows_nothing_has_none) {
  Both both;
  const Record send = message(Kind::Send, 3, 1);
  EXPECT_EQ(0u, both.there_and_back(send, {0, 0}).ordinal);
  both.reader_forgets();
  EXPECT_EQ(no_ordinal, both.there_and_back(send, {1, hash_of_tag(1)}).ordinal);
  // As in files that have no numbers.
  MessageNumbers reader;
  EXPECT_EQ(no_ordinal, reader.take(send).ordinal);
}

}  // namespace
}  // namespace refrain::events
