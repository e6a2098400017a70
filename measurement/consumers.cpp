#include "measurement/consumers.hpp"

#include "platform/hot.hpp"

namespace refrain::measurement {

constinit bool messages_are_numbered = false;
constinit std::atomic<bool> messages_go_uncounted{false};

namespace {

REFRAIN_HOT_DATA_OF_CONSUMERS constinit unsigned consumer_count = 0;
REFRAIN_HOT_DATA_OF_CONSUMERS constinit Consumer consumers[most_consumers]{};
constinit Wishes wishes_at_start = 0;

/// Hands a record over to the function `of` of those consumers that want it of the location.
template <class Record>
void hand_over_to(void (*Consumer::*of)(Location&, const Record&), Location& l, Wish wish, const Record& record) {
  for (unsigned i = 0; i < consumer_count; ++i)
    if (l.wanted & wish_of(i, wish) && consumers[i].*of) (consumers[i].*of)(l, record);
}

}  // namespace

unsigned add_consumer(const Consumer& consumer, std::initializer_list<Wish> wishes) {
  consumers[consumer_count] = consumer;
  messages_are_numbered |= consumer.numbers;
  for (const Wish wish : wishes) wishes_at_start |= wish_of(consumer_count, wish);
  return consumer_count++;
}

Wishes first_wishes() { return wishes_at_start; }

void hand_over(Location& l, const CallRecord& call) { hand_over_to(&Consumer::call, l, Wish::Calls, call); }
void hand_over(Location& l, const Communication& communication) {
  hand_over_to(&Consumer::communication, l, Wish::Calls, communication);
}
void hand_over(Location& l, const SampleRecord& sample) { hand_over_to(&Consumer::sample, l, Wish::Samples, sample); }
void hand_over(Location& l, const MarkRecord& mark) { hand_over_to(&Consumer::mark, l, Wish::Marks, mark); }
void hand_over(Location& l, const CutRecord& cut) { hand_over_to(&Consumer::cut, l, Wish::Cuts, cut); }

void hand_over(Location& l, const ReadingRecord& reading) {
  for (unsigned i = 0; i < consumer_count; ++i)
    if (consumers[i].reading) consumers[i].reading(l, reading);
}

void hand_over_end_of_thread(Location& l) {
  for (unsigned i = 0; i < consumer_count; ++i)
    if (consumers[i].thread_ended) consumers[i].thread_ended(l);
}

void hand_over_abandonment(Location& l) {
  for (unsigned i = 0; i < consumer_count; ++i)
    if (consumers[i].abandoned) consumers[i].abandoned(l);
}

void hand_over_fork() {
  for (unsigned i = 0; i < consumer_count; ++i)
    if (consumers[i].forked) consumers[i].forked();
}

REFRAIN_HOT_CODE void hand_over_call(Location& l, platform::Ticks end, bool is_whole) {
  const OpenCall& call = l.call;
  if (call.node == unrecorded_call) return;
  hand_over(l, CallRecord{call.region, call.time, is_whole, l.calls_around > 0, call.node, call.begin, end});
}

}  // namespace refrain::measurement
