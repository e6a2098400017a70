#include "offline/patterns/waits.hpp"

#include <algorithm>

#include "offline/patterns/dependences.hpp"

namespace refrain::patterns {
namespace {

void publish(const Search& search, const Moment& waiter, const Moment& delayer, std::int64_t waiting_ns) {
  if (waiting_ns > 0 && waiter.location != delayer.location) search.publish(Waited{waiter, delayer, waiting_ns});
}

}  // namespace

Waits::Waits(Search& search) {
  search.subscribe<Receiving>([&search](const Receiving& of) {
    const Received& latest = of.latest;
    publish(search, begin_of(of.call), {latest.sender, latest.send_enter_ns, latest.send_path}, of.waiting_ns);
  });
  search.subscribe<Sending>([&search](const Sending& of) {
    publish(search, begin_of(of.call), {of.receiver, of.posted_ns, of.receiver_path}, of.waiting_ns);
  });
  search.subscribe<Collective>([&search](const Collective& of) {
    for_each_dependence(of.operation, [&](const trace::CollectivePart& part, const trace::CollectivePart& last) {
      publish(search, {part.location, part.enter_ns, part.path}, {last.location, last.begin_ns, last.begin_path},
              time_in_call_until(part, last.begin_ns));
    });
  });
  search.subscribe<WindowWait>(
      [&search](const WindowWait& of) { publish(search, begin_of(of.call), of.delayer, of.waiting_ns); });
  search.subscribe<JobWide>([&search](const JobWide& of) {
    const auto last = std::ranges::max_element(of.calls, {}, &Call::enter_ns);
    for (const Call& call : of.calls)
      publish(search, begin_of(call), begin_of(*last), std::min(last->enter_ns, call.leave_ns) - call.enter_ns);
  });
}

}  // namespace refrain::patterns
