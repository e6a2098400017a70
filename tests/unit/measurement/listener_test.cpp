// What the listener keeps: records in their order, spans that were asked for, and what becomes of a buffer that is full
// or was left by a jump.

#include "measurement/listener.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <string_view>
#include <vector>

#include "measurement/event_log.hpp"
#include "measurement/locations.hpp"
#include "measurement/mpi_call.hpp"
#include "unwind/walker.hpp"

namespace refrain::measurement {
namespace {

using events::Kind;
using events::Record;

constexpr RegionId loop{9};

class Listener : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(unwind::start_rule_cache()); }
  static void TearDownTestSuite() { start_events({}); }
  void TearDown() override { free_detached_location(location); }

  void begin(std::string_view selection, std::size_t memory = std::size_t{1} << 20) {
    start_events({.selection = config::parse_trace(selection), .memory = memory});
    location = make_detached_location({.memory = std::size_t{4} << 20, .callpath_depth = 64});
    ASSERT_TRUE(location);
    begin_events(*location);
    ASSERT_TRUE(location->keeps_events);
  }
  void call(bool is_whole = true) {
    location->call.node = NodeId{1};
    location->call.begin = ++time;
    keep_call(*location, ++time, is_whole);
  }
  void send() {
    Record r;
    r.kind = Kind::Send;
    r.bytes_sent = 8;
    keep(*location, r, {sent++, 0});
  }
  std::vector<Record> records() const {
    const events::Block all = location->event_head.records.until(location->event_head.records.end());
    std::vector<Record> found;
    events::Context context = all.begin;
    Record record;
    for (std::size_t at = 0, bytes; at < all.records.size(); at += bytes) {
      bytes = events::decode(all.records.subspan(at), context, record);
      EXPECT_GT(bytes, 0U);
      if (bytes == 0) break;
      found.push_back(record);
    }
    EXPECT_EQ(found.size(), all.count);
    return found;
  }
  std::vector<Kind> kinds() const {
    std::vector<Kind> found;
    for (const Record& record : records()) found.push_back(record.kind);
    return found;
  }

  Location* location = nullptr;
  platform::Ticks time = 0;
  std::uint64_t sent = 0;
};

using Kinds = std::vector<Kind>;

TEST_F(Listener, what_a_call_has_done_comes_before_it) {
  begin("all");
  send();
  call();
  keep_span(*location, iteration_of(loop, 1), ++time, false);
  EXPECT_EQ(kinds(), (Kinds{Kind::Send, Kind::Call, Kind::Span}));
}

TEST_F(Listener, an_iteration_that_was_not_asked_for_is_forgotten) {
  begin("2");
  call();
  keep_span(*location, outside_of_iterations, ++time, false);
  call();
  send();
  keep_span(*location, iteration_of(loop, 1), ++time, false);
  EXPECT_EQ(kinds(), (Kinds{Kind::Call, Kind::Span}));
  call();
  keep_span(*location, iteration_of(loop, 2), ++time, false);
  EXPECT_EQ(kinds(), (Kinds{Kind::Call, Kind::Span, Kind::Call, Kind::Span}));
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::EventsLost)], 0);
}

TEST_F(Listener, a_call_that_began_while_the_measurement_was_stopped_has_no_record) {
  begin("all");
  location->call.node = unrecorded_call;
  keep_call(*location, 1, true);
  EXPECT_EQ(kinds(), Kinds{});
}

TEST_F(Listener, a_call_says_for_how_long_its_thread_did_not_run) {
  begin("all");
  call();
  const auto was_off_cpu = [&](platform::Ticks call_begin) {
    location->off_cpu.call_begin = call_begin;
    location->off_cpu.call_ns = 700;
    location->call.was_off_cpu = true;
  };
  was_off_cpu(time + 1);  // of the next one
  call();
  call();
  was_off_cpu(time - 1);  // of one that was not recorded
  call();
  std::vector<std::int64_t> off_ns;
  for (const Record& record : records()) off_ns.push_back(record.off_ns);
  EXPECT_EQ(off_ns, (std::vector<std::int64_t>{0, 700, 0, 0}));
}

TEST_F(Listener, a_full_buffer_asks_for_a_snapshot_at_the_end_of_a_call) {
  begin("all", std::size_t{32} << 10);
  snapshot_due.store(1);
  while (!is_full_of_events(*location)) {
    EXPECT_NE(snapshot_due.load(), 0);
    call();
  }
  EXPECT_EQ(snapshot_due.load(), 0);
  EXPECT_GE(location->event_head.records.size(), location->event_head.records.capacity() / 4 * 3);
  remove_events(*location, end_of_kept_events(*location));
  EXPECT_EQ(kinds(), Kinds{});
  EXPECT_FALSE(is_full_of_events(*location));
  snapshot_due.store(std::numeric_limits<platform::Ticks>::max());
}

TEST_F(Listener, a_sample_that_outgrows_its_room_samples_messages) {
  begin("sampled", std::size_t{64} << 10);
  while (!location->event_head.samples_messages) {
    send();
    call();
  }
  EXPECT_TRUE(location->events->matched.is_on());
  EXPECT_FALSE(is_full_of_events(*location)) << "it goes to no file";
  const std::size_t before = location->events->matched.messages().size();
  for (int i = 0; i < 100; ++i) {
    send();
    call();
  }
  EXPECT_GT(location->events->matched.messages().size(), before);
}

TEST_F(Listener, whole_records_stay_when_it_was_left_by_a_jump) {
  begin("all");
  send();
  call();
  mend_events(*location);
  call();
  EXPECT_EQ(kinds(), (Kinds{Kind::Send, Kind::Call, Kind::Call}));
}

TEST_F(Listener, nothing_is_taken_when_events_have_ended_and_it_is_a_loss) {
  begin("all");
  events_have_ended = true;
  call();
  keep_end_of_thread(*location);
  events_have_ended = false;
  EXPECT_EQ(kinds(), Kinds{});
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::EventsLost)], 2);
}

}  // namespace
}  // namespace refrain::measurement
