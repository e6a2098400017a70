// Messages are numbered as MPI matches them, or not at all.

#include "adapters/mpi/identities/channels.hpp"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace refrain::adapters::mpi {
namespace {

using events::any_peer, events::any_tag, events::hash_of_tag, events::no_ordinal;

class ChannelsTest : public testing::Test {
 protected:
  explicit ChannelsTest(bool is_threaded = false) { EXPECT_TRUE(channels.create(is_threaded)); }
  static ChannelUse from(std::int32_t peer, std::int32_t tag, std::int32_t thread = 0) {
    return {5, peer, tag, true, thread};
  }
  static ChannelUse to(std::int32_t peer, std::int32_t tag, std::int32_t thread = 0) {
    return {5, peer, tag, false, thread};
  }
  std::uint64_t count(const ChannelUse& use) { return channels.count(use, full).ordinal; }
  MessageNumber post(const ChannelUse& use) { return channels.post(use, full); }
  std::uint64_t complete(const MessageNumber& ticket, const ChannelUse& told) {
    return channels.complete(ticket, told).ordinal;
  }

  Channels channels;
  bool full = false;
};

TEST_F(ChannelsTest, each_channel_counts_by_itself) {
  EXPECT_EQ(0u, count(to(1, 7)));
  EXPECT_EQ(0u, count(to(2, 7)));
  EXPECT_EQ(0u, count(from(1, 7)));
  EXPECT_EQ(0u, count(to(1, 8)));
  EXPECT_EQ(1u, count(to(1, 7)));
  const MessageNumber other_tag = channels.count(to(1, 7 + 32), full);  // a tag of the same bucket
  EXPECT_EQ((MessageNumber{2, 2 * hash_of_tag(7)}), other_tag);
  EXPECT_EQ((MessageNumber{3, 2 * hash_of_tag(7) + hash_of_tag(39)}), channels.count(to(1, 7), full));
  EXPECT_FALSE(full);
}

TEST_F(ChannelsTest, receives_count_when_they_are_posted) {
  const MessageNumber first = post(from(1, 7)), second = post(from(1, 7));
  EXPECT_EQ(2u, count(from(1, 7)));
  EXPECT_EQ(1u, complete(second, from(1, 7)));
  EXPECT_EQ(0u, complete(first, from(1, 7)));
}

TEST_F(ChannelsTest, what_competes_with_an_open_wildcard_waits_for_it) {
  const MessageNumber wild = post(from(any_peer, 7)), behind = post(from(1, 7)), apart = post(from(1, 8));
  EXPECT_EQ(0u, complete(apart, from(1, 8)));
  EXPECT_EQ(no_ordinal, count(from(1, 7)));  // a blocking receive counts nevertheless, but later
  EXPECT_EQ(0u, complete(wild, from(1, 7)));
  EXPECT_EQ(1u, complete(behind, from(1, 7)));
  EXPECT_EQ(3u, count(from(1, 7)));
}

TEST_F(ChannelsTest, one_that_completes_before_an_earlier_wildcard_has_no_number_and_is_counted) {
  const MessageNumber wild = post(from(any_peer, any_tag)), second = post(from(any_peer, any_tag)),
                      third = post(from(2, 7));
  EXPECT_EQ(no_ordinal, complete(second, from(1, 7)));
  EXPECT_EQ(no_ordinal, complete(third, from(2, 7)));
  EXPECT_EQ(0u, complete(wild, from(1, 7)));
  EXPECT_EQ(2u, count(from(1, 7)));
  EXPECT_EQ(1u, count(from(2, 7)));
}

TEST_F(ChannelsTest, statuses_that_are_known_together_number_all) {
  const MessageNumber first = post(from(any_peer, any_tag)), second = post(from(any_peer, any_tag));
  channels.resolve(second, from(1, 7));
  channels.resolve(first, from(1, 7));
  EXPECT_EQ(1u, complete(second, from(1, 7)));
  EXPECT_EQ(0u, complete(first, from(1, 7)));
}

TEST_F(ChannelsTest, a_cancelled_wildcard_was_never_there) {
  const MessageNumber wild = post(from(any_peer, 7)), behind = post(from(1, 7));
  channels.doubt(from(any_peer, 7));
  channels.end_doubt(wild, from(any_peer, 7), true);
  EXPECT_EQ(0u, complete(behind, from(1, 7)));
}

TEST_F(ChannelsTest, the_last_one_may_be_cancelled) {
  (void)count(from(1, 7));
  const MessageNumber last = post(from(1, 7));
  channels.doubt(from(1, 7));
  channels.end_doubt(last, from(1, 7), true);
  EXPECT_EQ(1u, count(from(1, 7)));
}

TEST_F(ChannelsTest, behind_a_cancelled_one_nothing_is_known) {
  const MessageNumber first = post(from(1, 7)), second = post(from(1, 7));
  channels.doubt(from(1, 7));
  EXPECT_EQ(no_ordinal, complete(second, from(1, 7)));  // unknown so far
  const MessageNumber third = post(from(1, 7));
  channels.end_doubt(first, from(1, 7), true);
  EXPECT_EQ(no_ordinal, complete(third, from(1, 7)));
  EXPECT_EQ(0u, count(from(1, 8)));
}

TEST_F(ChannelsTest, a_cancellation_in_vain_changes_nothing) {
  const MessageNumber first = post(from(1, 7)), second = post(from(1, 7));
  channels.doubt(from(1, 7));
  channels.end_doubt(first, from(1, 7), false);
  EXPECT_EQ(0u, complete(first, from(1, 7)));
  EXPECT_EQ(1u, complete(second, from(1, 7)));
}

TEST_F(ChannelsTest, a_freed_wildcard_ends_the_numbers_of_all_receives) {
  channels.give_up(post(from(any_peer, 7)), from(any_peer, 7));
  EXPECT_EQ(no_ordinal, count(from(1, 8)));
  EXPECT_EQ(0u, count(to(1, 8)));
}

TEST_F(ChannelsTest, a_freed_receive_has_its_place) {
  channels.give_up(post(from(1, 7)), from(1, 7));
  EXPECT_EQ(1u, count(from(1, 7)));
}

TEST_F(ChannelsTest, too_many_open_wildcards) {
  std::vector<MessageNumber> posted;
  for (unsigned i = 0; i < Channels::max_waiting; ++i) posted.push_back(post(from(any_peer, 7)));
  EXPECT_FALSE(full);
  (void)post(from(1, 7));
  EXPECT_TRUE(full);
  for (const MessageNumber& ticket : posted) EXPECT_EQ(no_ordinal, complete(ticket, from(1, 7)));
}

TEST_F(ChannelsTest, a_full_table_says_so) {
  std::uint64_t numbered = 0;
  for (std::int32_t peer = 0; peer < 100'000; ++peer) numbered += count(to(peer, 1)) == 0;
  EXPECT_TRUE(full);
  EXPECT_GT(numbered, Channels::slots / 2);
  EXPECT_EQ(1u, count(to(0, 1)));
}

class ThreadedChannelsTest : public ChannelsTest {
 protected:
  ThreadedChannelsTest() : ChannelsTest(true) {}
};

TEST_F(ThreadedChannelsTest, a_channel_of_two_threads_has_no_numbers) {
  const MessageNumber of_first = post(from(1, 7, 0));
  EXPECT_EQ(0u, count(from(1, 8, 1)));
  channels.claim(from(1, 7, 1));
  EXPECT_EQ(no_ordinal, complete(of_first, from(1, 7, 0)));
  EXPECT_EQ(no_ordinal, count(from(1, 7, 0)));
  EXPECT_EQ(1u, count(from(1, 8, 1)));
}

TEST_F(ThreadedChannelsTest, a_wildcard_and_receives_of_another_thread) {
  const MessageNumber of_second = post(from(1, 7, 1));
  channels.claim(from(any_peer, 7, 0));
  const MessageNumber wild = post(from(any_peer, 7, 0));
  (void)post(from(1, 8, 1));
  EXPECT_EQ(no_ordinal, complete(wild, from(1, 7, 0)));
  EXPECT_EQ(no_ordinal, complete(of_second, from(1, 7, 1)));
}

TEST_F(ThreadedChannelsTest, threads_add_channels_at_once) {
  std::vector<std::thread> all;
  for (std::int32_t thread = 0; thread < 4; ++thread)
    all.emplace_back([this, thread] {
      bool none = false;
      for (int round = 0; round < 100; ++round)
        for (std::int32_t peer = 0; peer < 200; ++peer)
          EXPECT_EQ(static_cast<std::uint64_t>(round), channels.count(to(peer, thread, thread), none).ordinal);
      EXPECT_FALSE(none);
    });
  for (std::thread& thread : all) thread.join();
}

}  // namespace
}  // namespace refrain::adapters::mpi
