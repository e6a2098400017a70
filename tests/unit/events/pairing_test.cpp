// A send and a receive are paired only if they are certainly one message.

#include "offline/trace/pairing.hpp"

#include <gtest/gtest.h>
#include <string>

namespace refrain::trace {
namespace {

using events::hash_of_tag;
using events::Kind;
using events::no_ordinal;
using events::Phase;

/// Locations are ranks on one communicator.
class PairingTest : public testing::Test {
 protected:
  explicit PairingTest(bool numbered = true)
      : pairing(
            4, numbered,
            [](const Event& event) {
              return ChannelEnds{event.record.communicator, static_cast<std::int32_t>(event.location),
                                 event.record.peer};
            },
            [this](const MessagePair& pair) {
              pairs += (pairs.empty() ? "" : ", ") + std::to_string(pair.send.time_ns) + "-" +
                       std::to_string(pair.receive.time_ns);
            }) {}

  Event message(Kind kind, std::uint32_t rank, std::int32_t peer, std::uint64_t ordinal, std::int32_t tag = 1) {
    Event event;
    event.type = Type::Communication;
    event.location = rank;
    event.time_ns = ++time;
    event.record.kind = kind;
    event.record.peer = peer;
    event.record.tag = tag;
    event.record.ordinal = ordinal;
    event.record.tags_before = ordinal * hash_of_tag(tag);
    (kind == Kind::Send ? event.record.bytes_sent : event.record.bytes_received) = 8;
    return event;
  }
  void send(std::uint32_t rank, std::int32_t to, std::uint64_t ordinal, std::int32_t tag = 1) {
    pairing.add(message(Kind::Send, rank, to, ordinal, tag));
  }
  void receive(std::uint32_t rank, std::int32_t from, std::uint64_t ordinal, std::int32_t tag = 1) {
    pairing.add(message(Kind::Receive, rank, from, ordinal, tag));
  }
  std::uint64_t left_out(LeftOut reason) const { return pairing.counts().left_out[static_cast<std::size_t>(reason)]; }

  std::int64_t time = 0;
  std::string pairs;
  Pairing pairing;
};

TEST_F(PairingTest, equal_numbers_are_one_message_whatever_is_missing) {
  send(0, 1, 10);
  send(0, 1, 11);
  receive(1, 0, 11);
  ASSERT_TRUE(pairing.sent());
  EXPECT_EQ(2, pairing.sent()->time_ns);
  receive(1, 0, 9);
  EXPECT_FALSE(pairing.sent());
  pairing.finish();
  EXPECT_EQ("2-3", pairs);
  EXPECT_EQ(2u, left_out(LeftOut::NotKept));
}

TEST_F(PairingTest, directions_and_classes_are_apart) {
  send(0, 1, 0);
  receive(0, 1, 0);
  receive(1, 0, 0, 2);
  receive(2, 0, 0);
  EXPECT_EQ("", pairs);
  send(1, 0, 0);
  EXPECT_EQ("5-2", pairs);  // the receive came first, since clocks may differ
}

TEST_F(PairingTest, tags_of_a_class_in_another_order_are_left_out) {
  send(0, 1, 0, 1);
  receive(1, 0, 0, 33);
  Event later = message(Kind::Send, 0, 1, 2, 1);
  later.record.tags_before = hash_of_tag(1) + hash_of_tag(33);
  pairing.add(later);
  later = message(Kind::Receive, 1, 0, 2, 1);
  later.record.tags_before = hash_of_tag(33) + hash_of_tag(1);
  pairing.add(later);
  EXPECT_EQ(2u, left_out(LeftOut::OtherOrder));
  EXPECT_EQ("3-4", pairs);
}

TEST_F(PairingTest, equal_tags_behind_other_ones_are_left_out) {
  // Sent 1, 1, 33 and received 33, 1, 1: the second send and the second receive are not one message.
  send(0, 1, 1, 1);
  Event second = message(Kind::Receive, 1, 0, 1, 1);
  second.record.tags_before = hash_of_tag(33);
  pairing.add(second);
  EXPECT_EQ(2u, left_out(LeftOut::OtherOrder));
  EXPECT_EQ("", pairs);
}

TEST_F(PairingTest, what_has_no_number_or_no_partner_is_left_out_with_its_reason) {
  send(0, 1, no_ordinal);
  send(0, -1, 3);
  send(0, 1, 5);
  Event other = message(Kind::Receive, 1, 0, 5);
  other.record.bytes_received = 9;
  pairing.add(other);
  EXPECT_EQ(1u, left_out(LeftOut::Unnumbered));
  EXPECT_EQ(1u, left_out(LeftOut::Outside));
  EXPECT_EQ(2u, left_out(LeftOut::Contradiction));
  EXPECT_EQ("", pairs);
}

TEST_F(PairingTest, memory_has_a_bound) {
  for (std::uint64_t i = 0; i < 1'000'000; ++i) send(0, 1, i);
  EXPECT_GT(left_out(LeftOut::NotKept), 800'000u);
  receive(1, 0, 999'999);
  EXPECT_TRUE(pairing.sent());
}

class UnnumberedTest : public PairingTest {
 protected:
  UnnumberedTest() : PairingTest(false) {}
  void request(Kind kind, Phase phase, std::uint32_t rank, std::int32_t peer, std::uint64_t request,
               std::int32_t tag = 1) {
    Event event = message(kind, rank, peer, 0, tag);
    event.record.phase = phase;
    event.record.request = request;
    pairing.add(event);
  }
};

TEST_F(UnnumberedTest, by_order_of_each_tag) {
  send(0, 1, 0, 1);
  send(0, 1, 0, 2);
  send(0, 1, 0, 1);
  receive(1, 0, 0, 2);
  receive(1, 0, 0, 1);
  receive(1, 0, 0, 1);
  EXPECT_EQ("2-4, 1-5, 3-6", pairs);
}

TEST_F(UnnumberedTest, receives_have_their_place_where_they_were_posted) {
  request(Kind::Receive, Phase::Begun, 1, events::any_peer, 1);
  request(Kind::Receive, Phase::Begun, 1, events::any_peer, 2);
  request(Kind::Receive, Phase::Begun, 1, events::any_peer, 3);
  send(0, 1, 0);
  send(0, 1, 0);
  request(Kind::Receive, Phase::Completed, 1, 0, 3);
  EXPECT_EQ("", pairs);
  request(Kind::Receive, Phase::Cancelled, 1, 0, 1);
  request(Kind::Receive, Phase::Completed, 1, 0, 2);
  EXPECT_EQ("4-8, 5-6", pairs);
}

TEST_F(UnnumberedTest, behind_one_that_never_completes_nothing_is_known) {
  request(Kind::Receive, Phase::Begun, 1, events::any_peer, 1);
  send(0, 1, 0);
  receive(1, 0, 0);
  pairing.finish();
  EXPECT_EQ("", pairs);
  EXPECT_EQ(1u, left_out(LeftOut::Unnumbered));
}

}  // namespace
}  // namespace refrain::trace
