// Patterns of waiting: a call cannot continue before another process has done something.
#include <algorithm>
#include <deque>

#include "offline/patterns/dependences.hpp"
#include "offline/patterns/pattern.hpp"

namespace refrain::patterns {
namespace {

using trace::CollectivePart;
using trace::Exchange;

// Confidence in findings, from the counts of the search.

double confidence_in_messages(const SearchCounts& counts) { return counts.known_messages; }

/// In a sample it is unknown which messages were in flight before an iteration.
double confidence_in_orders(const SearchCounts& counts) {
  return counts.is_sample ? std::min(counts.known_messages, 0.5) : counts.known_messages;
}

/// Share of the collective operations that are known from all processes.
double share_of_whole(const SearchCounts& counts) {
  const auto whole = static_cast<double>(counts.collectives), rest = static_cast<double>(counts.collectives_left_out);
  return whole + rest > 0 ? whole / (whole + rest) : 1;
}

/// Share of the fences and accesses that are known from all participants.
double share_of_epochs(const SearchCounts& counts) {
  const auto all = static_cast<double>(counts.window_epochs), left = static_cast<double>(counts.window_epochs_left_out);
  return all > 0 ? std::max(1 - left / all, 0.0) : 1;
}

double confidence_in_all(const SearchCounts& counts) {
  return std::min({counts.known_messages, share_of_whole(counts), share_of_epochs(counts)});
}

/// Only the longest wait of a call counts, whatever the call waited for.
class LongestOfCall {
 public:
  struct Excess {
    std::int64_t ns, part_ns;
  };
  /// Returns by how much `ns` is more than what was added for this call before. `part_ns` is a part of `ns` that counts
  /// separately: for it, returns the difference from the part of the longest wait before, which may be negative.
  Excess excess(const Call& call, std::int64_t ns, std::int64_t part_ns = 0) {
    if (call.location >= recent_.size()) recent_.resize(call.location + std::size_t{1});
    std::deque<Longest>& recent = recent_[call.location];
    // Usually the call is new.
    const bool is_last = recent.empty() || recent.back().enter_ns < call.enter_ns;
    const auto at = is_last ? recent.end() : std::ranges::lower_bound(recent, call.enter_ns, {}, &Longest::enter_ns);
    if (at != recent.end() && at->enter_ns == call.enter_ns) {
      if (ns <= at->longest.ns) return {0, 0};
      const Excess before = std::exchange(at->longest, {ns, part_ns});
      return {ns - before.ns, part_ns - before.part_ns};
    }
    recent.insert(at, {call.enter_ns, {ns, part_ns}});
    // In a distributed search, waits that others report come some rounds after those that are known here.
    constexpr std::size_t least_remembered = 256, most_of_all = std::size_t{1} << 18;
    if (recent.size() > std::max(least_remembered, most_of_all / recent_.size())) recent.pop_front();
    return {ns, part_ns};
  }

 private:
  struct Longest {
    std::int64_t enter_ns;
    Excess longest;
  };
  std::vector<std::deque<Longest>> recent_;  ///< by location, the last calls, ascending
};

/// A pattern of waiting, whose subscriptions add the time that calls waited.
class WaitPattern final : public Pattern {
 public:
  using Confidence = double (*)(const SearchCounts& counts);
  using Subscribe = std::function<void(WaitPattern& of)>;
  WaitPattern(About about, Confidence confidence, Subscribe subscribe)
      : Pattern(std::move(about)), confidence_(confidence), subscribe_(std::move(subscribe)) {}
  void subscribe(Search& search) override {
    search_ = &search;
    subscribe_(*this);
  }
  double confidence(const SearchCounts& counts) const override { return confidence_(counts); }

  // For subscribed callbacks.
  Search& search() const { return *search_; }
  std::int32_t rank_of(std::uint32_t location) const { return search_->trace().locations()[location].rank; }
  void add(const Call& call, std::int64_t ns) const { search_->add(quantity(), call, ns); }
  void add_longest(const Call& call, std::int64_t ns) { add(call, longest_.excess(call, ns).ns); }
  /// Adds only this part of the call's longest wait.
  void add_part_of_longest(const Call& call, std::int64_t ns, std::int64_t part_ns) {
    add(call, longest_.excess(call, ns, part_ns).part_ns);
  }

 private:
  Confidence confidence_;
  Subscribe subscribe_;
  Search* search_ = nullptr;
  LongestOfCall longest_;
};

/// Calls `take(pattern, event)` for each event of this type.
template <class Event, class Take>
WaitPattern::Subscribe on(Take take) {
  return
      [take](WaitPattern& of) { of.search().subscribe<Event>([&of, take](const Event& event) { take(of, event); }); };
}

void late_sender(WaitPattern& of, const Receiving& receiving) {
  if (receiving.waiting_ns <= 0) return;
  of.add(receiving.call, receiving.waiting_ns);
  of.search().publish(LateSender{receiving});
}

void late_receiver(WaitPattern& of, const Sending& sending) {
  if (sending.waiting_ns <= 0) return;
  of.add(sending.call, sending.waiting_ns);
  of.search().publish(LateReceiver{sending});
}

/// Messages that could have been received meanwhile were in flight: from the same sender, from others, or from either.
WaitPattern::Subscribe wrong_order(bool of_same, bool of_others) {
  return on<LateSender>([=](WaitPattern& of, const LateSender& late) {
    const Received& latest = late.receiving.latest;
    // If there are both, the same source is the closer cause.
    const bool same = latest.older_of_source, others = latest.older_of_others && !same;
    if ((of_same && same) || (of_others && others)) of.add(late.receiving.call, late.receiving.waiting_ns);
  });
}

/// If a message is received while older ones to the same process are in flight, its whole call counts, once.
void messages_in_wrong_order(WaitPattern& of, const Received& received) {
  if (received.older_of_source || received.older_of_others)
    of.add_longest(received.call, received.call.time_ns() - received.call.inner_ns);
}

WaitPattern::Subscribe slow_slaves(std::int32_t master) {
  return on<LateSender>([master](WaitPattern& of, const LateSender& late) {
    const Receiving& receiving = late.receiving;
    if (of.rank_of(receiving.call.location) == master) of.add(receiving.call, receiving.waiting_ns);
  });
}

/// Only the longest wait counts, because a call may have both sent and received.
WaitPattern::Subscribe overloaded_master(std::int32_t master) {
  const auto add = [master](WaitPattern& of, std::uint32_t other, const Call& call, std::int64_t ns) {
    if (of.rank_of(other) == master && of.rank_of(call.location) != master) of.add_longest(call, ns);
  };
  return [add](WaitPattern& of) {
    on<LateSender>([add](WaitPattern& to, const LateSender& late) {
      add(to, late.receiving.latest.sender, late.receiving.call, late.receiving.waiting_ns);
    })(of);
    on<LateReceiver>([add](WaitPattern& to, const LateReceiver& late) {
      add(to, late.sending.receiver, late.sending.call, late.sending.waiting_ns);
    })(of);
  };
}

using Add = std::function<void(const CollectivePart&, std::int64_t)>;

/// Calls `add(part, ns)` for the cost of each part of an operation.
using FindCost = void (*)(const Collective& of, const Add& add);

void find_waiting(const Collective& of, const Add& add) {
  for_each_dependence(of.operation, [&](const CollectivePart& part, const CollectivePart& last) {
    add(part, time_in_call_until(part, last.begin_ns));
  });
}

void find_completion(const Collective& of, const Add& add) {
  for (const CollectivePart& part : of.operation.parts)
    add(part, part.leave_ns - std::max(of.first_leave_ns, part.enter_ns));
}

/// As defined in the paper: how much longer a process is in the barrier than the one with the shortest stay.
void find_imbalance(const Collective& of, const Add& add) {
  std::int64_t shortest = INT64_MAX;
  for (const CollectivePart& part : of.operation.parts) shortest = std::min(shortest, part.leave_ns - part.enter_ns);
  for (const CollectivePart& part : of.operation.parts) add(part, part.leave_ns - part.enter_ns - shortest);
}

WaitPattern::Subscribe collective(Exchange exchange, FindCost find) {
  return on<Collective>([=](WaitPattern& to, const Collective& of) {
    if (of.operation.exchange != exchange) return;
    find(of, [&](const CollectivePart& part, std::int64_t ns) {
      if (ns <= 0 || part.is_with_others || !to.search().looks_at(part.location)) return;
      part.is_blocking ? to.add(call_of(part), ns) : to.add_longest(call_of(part), ns);
    });
  });
}

WaitPattern::Subscribe window_wait(WindowWait::Of kind) {
  return on<WindowWait>([kind](WaitPattern& of, const WindowWait& wait) {
    if (wait.of == kind) of.add_longest(wait.call, wait.waiting_ns);
  });
}

/// For the access that an exposure waited for longest.
void late_complete(WaitPattern& of, const WindowWait& wait) {
  if (wait.of == WindowWait::Of::Complete) of.add_part_of_longest(wait.call, wait.waiting_ns, wait.idle_ns);
}

WaitPattern::Subscribe job_wide(bool is_init) {
  return on<JobWide>([is_init](WaitPattern& to, const JobWide& of) {
    if (of.is_init != is_init) return;
    for (const Call& call : of.calls) to.add(call, std::min(of.last_enter_ns, call.leave_ns) - call.enter_ns);
  });
}

/// The longest wait of a call, whatever it waited for.
void waiting(WaitPattern& to) {
  const auto add = [&to](const Call& call, std::int64_t ns, bool is_alone) {
    if (ns <= 0 || !to.search().looks_at(call.location)) return;
    is_alone ? to.add(call, ns) : to.add_longest(call, ns);
  };
  Search& search = to.search();
  search.subscribe<Receiving>([add](const Receiving& of) { add(of.call, of.waiting_ns - of.told_ns, true); });
  search.subscribe<Sending>([add](const Sending& of) { add(of.call, of.waiting_ns - of.told_ns, true); });
  search.subscribe<Collective>([add](const Collective& of) {
    for_each_dependence(of.operation, [&](const CollectivePart& part, const CollectivePart& last) {
      if (!part.is_with_others) add(call_of(part), time_in_call_until(part, last.begin_ns), part.is_blocking);
    });
  });
  search.subscribe<JobWide>([add](const JobWide& of) {
    for (const Call& call : of.calls) add(call, std::min(of.last_enter_ns, call.leave_ns) - call.enter_ns, true);
  });
  search.subscribe<WindowWait>([add](const WindowWait& of) { add(of.call, of.waiting_ns, false); });
}

}  // namespace

Patterns waiting_patterns(const Parameters& parameters) {
  Patterns all;
  const auto add = [&](About about, WaitPattern::Confidence confidence, WaitPattern::Subscribe subscribe) {
    all.push_back(std::make_unique<WaitPattern>(std::move(about), confidence, std::move(subscribe)));
  };
  add({waiting_name, "mpi", "Waiting for other processes, of whatever kind"}, confidence_in_all, waiting);
  add({"late_sender", "p2p", "Receivers wait for senders", true}, confidence_in_messages, on<Receiving>(late_sender));
  add({"late_sender_wrong_order", "late_sender", "... while older messages were on their way"}, confidence_in_orders,
      wrong_order(true, true));
  add({"wrong_order_same_source", "late_sender_wrong_order", "... of the same sender"}, confidence_in_orders,
      wrong_order(true, false));
  add({"wrong_order_different_sources", "late_sender_wrong_order", "... of other senders"}, confidence_in_orders,
      wrong_order(false, true));
  add({"slow_slaves", "late_sender", "The master waits for results"}, confidence_in_messages,
      slow_slaves(parameters.master));
  add({"late_receiver", "p2p", "Senders wait for receivers", true}, confidence_in_messages, on<Sending>(late_receiver));
  add({"overloaded_master", "p2p", "Slaves wait for the master"}, confidence_in_messages,
      overloaded_master(parameters.master));
  add({"messages_in_wrong_order", "p2p", "Messages are received in another order than they were sent"},
      confidence_in_orders, on<Received>(messages_in_wrong_order));
  add({"wait_at_nxn", "collective", "All wait for the last process of an operation of all", true}, share_of_whole,
      collective(Exchange::AllToAll, find_waiting));
  add({"nxn_completion", "collective", "An operation of all after the first process has left it"}, share_of_whole,
      collective(Exchange::AllToAll, find_completion));
  add({"late_broadcast", "collective", "Receivers wait for the root", true}, share_of_whole,
      collective(Exchange::OneToAll, find_waiting));
  add({"early_reduce", "collective", "The root waits for senders", true}, share_of_whole,
      collective(Exchange::AllToOne, find_waiting));
  add({"early_scan", "collective", "Processes wait for those before them", true}, share_of_whole,
      collective(Exchange::Prefix, find_waiting));
  add({"wait_at_barrier", "barrier", "All wait for the last process", true}, share_of_whole,
      collective(Exchange::Barrier, find_waiting));
  add({"barrier_completion", "barrier", "A barrier after the first process has left it"}, share_of_whole,
      collective(Exchange::Barrier, find_completion));
  add({"load_imbalance_at_barrier", "barrier", "Longer in the barrier than the last process"}, share_of_whole,
      collective(Exchange::Barrier, find_imbalance));
  add({"wait_at_fence", "one_sided_synchronization", "All wait for the last process at a fence", true}, share_of_epochs,
      window_wait(WindowWait::Of::Fence));
  add({"late_post", "mpi", "An access waits until its target is exposed", true}, share_of_epochs,
      window_wait(WindowWait::Of::Post));
  add({"early_wait", "one_sided_synchronization", "An exposure waits until the last access has ended", true},
      share_of_epochs, window_wait(WindowWait::Of::Complete));
  add({"late_complete", "early_wait", "... after the last operation of the access"}, share_of_epochs,
      on<WindowWait>(late_complete));
  add({"lock_contention", "mpi", "A lock waits until another process gives it back", true}, share_of_epochs,
      window_wait(WindowWait::Of::Unlock));
  const auto certain = [](const SearchCounts&) { return 1.0; };
  add({"wait_at_init", "init_finalize", "Waiting for the last process to begin", true}, certain, job_wide(true));
  add({"wait_at_finalize", "init_finalize", "Waiting for the last process to end", true}, certain, job_wide(false));
  return all;
}

}  // namespace refrain::patterns
