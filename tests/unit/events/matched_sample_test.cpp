// Messages that are sampled one by one: both sides keep the same numbers, whatever room they have.

#include "events/matched_sample.hpp"

#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "format/kept_iterations.hpp"
#include "offline/trace/matched_messages.hpp"

namespace refrain {
namespace {

using events::Kind;
using events::MatchedSample;
using events::MessageNumber;
using events::Record;
using events::SampledMessage;
using trace::MatchedMessage;

class MatchedSampleTest : public testing::Test {
 protected:
  void create(std::size_t messages) {
    memory.resize(messages * sizeof(SampledMessage));
    sample.create(memory);
    sample.begin();
  }
  void add(Kind kind, std::uint64_t ordinal, std::int32_t peer = 1) {
    Record r;
    r.kind = kind;
    r.peer = peer;
    sample.add(r, {ordinal, 0});
  }
  void end_call(bool is_whole = true) {
    time += 10;
    sample.end_call({is_whole, 1, 7, time, time + 4});
  }
  std::set<std::uint64_t> ordinals() const {
    std::set<std::uint64_t> found;
    for (const SampledMessage& of : sample.messages()) found.insert(of.number.ordinal);
    return found;
  }

  std::int64_t time = 0;
  std::vector<std::byte> memory;
  MatchedSample sample;
};

TEST_F(MatchedSampleTest, the_level_rises_when_there_is_no_room_and_the_hash_says_what_stays) {
  create(100);
  for (std::uint64_t n = 0; n < 100'000; ++n) {
    const unsigned level = sample.level();
    add(Kind::Send, n);
    end_call();
    ASSERT_LE(sample.messages().size(), 100u);
    ASSERT_LE(sample.level(), level + 1);
  }
  // One message of each block is kept: blocks of 1024 leave 97 or 98, blocks of 512 twice as many.
  EXPECT_EQ(10u, sample.level());
  std::set<std::uint64_t> expected;
  for (std::uint64_t n = 0; n < 100'000; ++n)
    if (format::KeptIterations{.level = 10}.has(n)) expected.insert(n);
  EXPECT_EQ(expected, ordinals());
  EXPECT_EQ(0u, sample.lost());
}

TEST_F(MatchedSampleTest, what_is_known_of_a_message_stays_with_it) {
  create(100);
  for (std::uint64_t n = 0; n < 1000; ++n) {
    add(Kind::Send, n, static_cast<std::int32_t>(n));
    end_call();
  }
  ASSERT_GT(sample.messages().size(), 50u);
  for (const SampledMessage& of : sample.messages()) {
    EXPECT_EQ(static_cast<std::int64_t>(of.number.ordinal + 1) * 10, of.begin);
    EXPECT_EQ(of.begin + 4, of.end);
    EXPECT_EQ(static_cast<std::int32_t>(of.number.ordinal), of.peer);
    EXPECT_EQ(7u, of.node);
  }
}

TEST_F(MatchedSampleTest, all_that_a_call_completes_has_its_times_and_their_number) {
  create(100);
  end_call();  // the first call may have had other receives before
  for (std::uint64_t peer = 0; peer < 3; ++peer) add(Kind::Receive, 5, static_cast<std::int32_t>(peer));
  EXPECT_TRUE(sample.messages().empty()) << "the call is in progress";
  end_call();
  ASSERT_EQ(3u, sample.messages().size());
  for (const SampledMessage& of : sample.messages()) {
    EXPECT_EQ(3u, of.receives);
    EXPECT_EQ(20, of.begin);
  }
  EXPECT_EQ(10, sample.begin_time());
  add(Kind::Receive, 6);
  end_call();
  EXPECT_EQ(1u, sample.messages().back().receives);
}

TEST_F(MatchedSampleTest, the_level_rises_within_a_call) {
  create(10);
  for (std::uint64_t n = 0; n < 1000; ++n) add(Kind::Receive, n);
  end_call();
  EXPECT_GE(sample.level(), 7u);
  EXPECT_FALSE(sample.messages().empty());
  for (const SampledMessage& of : sample.messages()) {
    EXPECT_EQ(10, of.begin);
    EXPECT_EQ(0u, of.receives) << "it is the first call: what it had before is not known";
  }
}

TEST_F(MatchedSampleTest, receives_that_are_not_kept_are_counted) {
  create(10);
  end_call();
  for (std::uint64_t n = 0; n < 1000; ++n) add(Kind::Receive, n);
  end_call();
  for (const SampledMessage& of : sample.messages()) EXPECT_EQ(1000u, of.receives);
}

TEST_F(MatchedSampleTest, messages_without_a_number_and_of_a_call_that_was_left_are_lost) {
  create(10);
  add(Kind::Send, events::no_ordinal);
  end_call();
  EXPECT_EQ(1u, sample.lost());
  add(Kind::Send, 0);
  end_call(false);
  EXPECT_EQ(2u, sample.lost());
  EXPECT_TRUE(sample.messages().empty());
  add(Kind::Send, 1);
  end_call();
  EXPECT_EQ(std::set<std::uint64_t>{1}, ordinals());
}

TEST_F(MatchedSampleTest, an_agreed_level_drops_what_others_do_not_have) {
  create(100);
  for (std::uint64_t n = 0; n < 64; ++n) {
    add(Kind::Send, n);
    end_call();
  }
  sample.agree(4);
  EXPECT_EQ(4u, ordinals().size());
  sample.agree(2);
  EXPECT_EQ(4u, sample.level());
}

TEST_F(MatchedSampleTest, no_memory_at_all_is_survived) {
  sample.create({});
  sample.begin();
  for (std::uint64_t n = 0; n < 100; ++n) {
    add(Kind::Send, n);
    end_call();
  }
  EXPECT_TRUE(sample.messages().empty());
}

/// `wait` of a receive that began at `call` and ended at `call` + 100; the send began at `call` + `wait`.
MatchedMessage message(std::int64_t call, std::int64_t wait, std::uint32_t receives, std::uint64_t ordinal) {
  MatchedMessage of{};
  of.key.ordinal = ordinal;
  of.receive.enter_ns = call;
  of.receive.leave_ns = call + 100;
  of.receive.receives = receives;
  of.send.enter_ns = call + wait;
  return of;
}

void expect_between(double least, double most, const std::vector<MatchedMessage>& messages, unsigned level) {
  const trace::LateSenders found = trace::late_senders(messages, level);
  EXPECT_DOUBLE_EQ(least, found.least_ns);
  EXPECT_DOUBLE_EQ(most, found.most_ns);
}

TEST(LateSenders, a_receiver_waits_for_the_sender_but_not_longer_than_it_was_there) {
  expect_between(30, 30, {message(1000, 30, 1, 0)}, 0);
  expect_between(0, 0, {message(1000, -30, 1, 0)}, 0);
  expect_between(100, 100, {message(1000, 500, 1, 0)}, 0);
  expect_between(8 * 50, 8 * 50, {message(1000, 30, 1, 0), message(2000, 20, 1, 1)}, 3);
}

TEST(LateSenders, of_what_one_call_completes_the_longest_counts) {
  expect_between(2 * 30, 2 * 30, {message(1000, 30, 2, 4), message(1000, 20, 2, 4)}, 1);
}

TEST(LateSenders, where_a_call_is_not_known_as_a_whole_there_are_bounds) {
  expect_between(2 * 25, 2 * 50, {message(1000, 30, 2, 4), message(1000, 20, 2, 5)}, 1);
  expect_between(30, 30, {message(1000, 30, 2, 4), message(1000, 20, 2, 5)}, 0);
  expect_between(2 * 10, 2 * 30, {message(1000, 30, 3, 4)}, 1);
  expect_between(0, 2 * 30, {message(1000, 30, 0, 4)}, 1);
}

}  // namespace
}  // namespace refrain
