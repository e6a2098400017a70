// The section of sampled messages comes back as it was written; a damaged one is refused, and nothing else happens.

#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "offline/experiment/events_reader.hpp"
#include "record/encoder.hpp"
#include "record/events_encoder.hpp"

namespace refrain::experiment {
namespace {

using events::Kind;
using events::MessageNumber;
using events::Record;
using events::SampledMessage;

class SampledMessages : public testing::Test {
 protected:
  SampledMessages() : memory_(200 * sizeof(SampledMessage)) {
    sample_.create(memory_);
    sample_.begin();
    std::mt19937_64 random(7);
    sample_.end_call({true, 1, 7, -5, 3});
    for (std::uint64_t n = 0; n < 300; ++n) {
      Record r;
      r.kind = n % 3 == 0 ? Kind::Receive : Kind::Send;
      r.phase = n % 6 == 0 ? events::Phase::Completed : events::Phase::Whole;
      r.peer = static_cast<std::int32_t>(n % 5);
      r.tag = static_cast<std::int32_t>(random() >> 33);
      r.communicator = static_cast<std::int32_t>(n % 2);
      r.bytes_sent = r.bytes_received = static_cast<std::int64_t>(random() >> 20);
      r.begun_thread = 3;
      r.begun_node = static_cast<std::uint32_t>(random());
      sample_.add(r, {n, n % 4 == 0 ? n * events::hash_of_tag(r.tag) : random()});
      const auto begin = static_cast<std::int64_t>(random() >> 1);
      sample_.end_call({true, 1, static_cast<std::uint32_t>(n), begin, begin + 17});
    }
    sample_.add({}, {});  // without a number
    record::LocationRecord locations[3]{};
    for (std::int32_t thread = 0; thread < 3; ++thread) locations[thread].thread = thread;
    locations[2].matched = {sample_.is_on(), sample_.level(), sample_.lost(), sample_.begin_time(), sample_.messages()};
    record::RankRecord record{};
    record.locations = locations;
    EXPECT_TRUE(record::has_sampled_messages(record));
    record::Encoder out(section_);
    record::encode_sampled_messages(record, out);
    EXPECT_FALSE(out.failed());
  }

  EventsOfRank read(std::vector<std::byte> bytes) const {
    EventsOfRank events;
    for (std::int32_t thread = 0; thread < 3; ++thread) events.locations.emplace_back().thread = thread;
    const InputFile file("file", bytes);
    SectionReader in(file, "sampled messages", 0, bytes);
    read_sampled_messages(in, events);
    return events;
  }
  std::vector<std::byte> section() const { return {section_.view().begin(), section_.view().end()}; }

  std::vector<std::byte> memory_;
  events::MatchedSample sample_;
  platform::Bytes section_;
};

TEST_F(SampledMessages, come_back_as_they_were) {
  const EventsOfRank events = read(section());
  EXPECT_FALSE(events.locations[0].sampled);
  ASSERT_TRUE(events.locations[2].sampled);
  const MessageSample& found = *events.locations[2].sampled;
  EXPECT_EQ(sample_.level(), found.level);
  EXPECT_EQ(1u, found.lost);
  EXPECT_EQ(-5, found.begin_time);
  ASSERT_GT(found.messages.size(), 100u);
  ASSERT_EQ(sample_.messages().size(), found.messages.size());
  for (std::size_t i = 0; i < found.messages.size(); ++i) {
    SampledMessage expected = sample_.messages()[i];
    const SampledMessage& of = found.messages[i];
    if (!expected.is_completed) expected.begun_thread = 0, expected.begun_node = 0;  // meaningless then
    EXPECT_EQ(
        std::tuple(expected.begin, expected.end, expected.number.ordinal, expected.number.tags_before, expected.bytes,
                   expected.communicator, expected.peer, expected.tag, expected.node, expected.begun_thread,
                   expected.begun_node, expected.receives, expected.is_receive, expected.is_completed),
        std::tuple(of.begin, of.end, of.number.ordinal, of.number.tags_before, of.bytes, of.communicator, of.peer,
                   of.tag, of.node, of.begun_thread, of.begun_node, of.receives, of.is_receive, of.is_completed));
  }
}

TEST_F(SampledMessages, a_section_that_is_cut_is_refused) {
  const std::vector<std::byte> whole = section();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), ReadError) << size;
}

TEST_F(SampledMessages, damage_does_no_harm) {
  const std::vector<std::byte> whole = section();
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes = whole;
    for (unsigned n = 1 + random() % 4; n > 0; --n) {
      // Half of them at the begin, where counts are.
      const std::size_t at = random() % 2 == 0 ? random() % 16 : random() % bytes.size();
      bytes[at] = static_cast<std::byte>(random());
    }
    try {
      const EventsOfRank events = read(std::move(bytes));
      EXPECT_EQ(3u, events.locations.size());
    } catch (const ReadError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace refrain::experiment
