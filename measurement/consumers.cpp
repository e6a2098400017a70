#include "measurement/consumers.hpp"

namespace refrain::measurement {

namespace {

constinit Consumer consumers[most_consumers]{};
constinit unsigned consumer_count = 0;
constinit Wishes wishes_at_start = 0;

/// Calls f(consumer) for those that want it of the location.
template <class F>
void for_each_that_wants(const Location& l, Wish wish, F&& f) {
  for (unsigned i = 0; i < consumer_count; ++i)
    if (l.wanted & wish_of(i, wish)) f(consumers[i]);
}

}  // namespace

unsigned add_consumer(const Consumer& consumer, std::initializer_list<Wish> wishes) {
  consumers[consumer_count] = consumer;
  for (const Wish wish : wishes) wishes_at_start |= wish_of(consumer_count, wish);
  return consumer_count++;
}

Wishes first_wishes() { return wishes_at_start; }

void hand_over(Location& l, const CallRecord& call) {
  for_each_that_wants(l, Wish::Calls, [&](const Consumer& c) {
    if (c.call) c.call(l, call);
  });
}

void hand_over(Location& l, const Communication& communication) {
  for_each_that_wants(l, Wish::Calls, [&](const Consumer& c) {
    if (c.communication) c.communication(l, communication);
  });
}

void hand_over(Location& l, const SampleRecord& sample) {
  for_each_that_wants(l, Wish::Samples, [&](const Consumer& c) {
    if (c.sample) c.sample(l, sample);
  });
}

void hand_over(Location& l, const MarkRecord& mark) {
  for_each_that_wants(l, Wish::Marks, [&](const Consumer& c) {
    if (c.mark) c.mark(l, mark);
  });
}

void hand_over(Location& l, const CutRecord& cut) {
  for_each_that_wants(l, Wish::Cuts, [&](const Consumer& c) {
    if (c.cut) c.cut(l, cut);
  });
}

void hand_over_end_of_thread(Location& l) {
  for (unsigned i = 0; i < consumer_count; ++i)
    if (consumers[i].thread_ended) consumers[i].thread_ended(l);
}

void hand_over_fork() {
  for (unsigned i = 0; i < consumer_count; ++i)
    if (consumers[i].forked) consumers[i].forked();
}

void hand_over_call(Location& l, platform::Ticks end, bool is_whole) {
  const OpenCall& call = l.call;
  if (call.node == unrecorded_call) return;
  hand_over(l, CallRecord{call.region, call.time, is_whole, call.node, call.begin, end});
}

}  // namespace refrain::measurement
