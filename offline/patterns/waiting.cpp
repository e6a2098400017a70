// Patterns of waiting: a call that cannot go on before another process has done something.
#include <algorithm>
#include <deque>

#include "offline/patterns/dependences.hpp"
#include "offline/patterns/pattern.hpp"

namespace refrain::patterns {
namespace {

using trace::CollectivePart;
using trace::Exchange;

class OfMessages : public Pattern {
 public:
  using Pattern::Pattern;
  double confidence(const SearchCounts& counts) const override { return counts.known_messages; }
};

/// Of a sample nobody knows what was on its way before an iteration.
class OfOrders : public OfMessages {
 public:
  using OfMessages::OfMessages;
  double confidence(const SearchCounts& counts) const override {
    return counts.is_sample ? std::min(counts.known_messages, 0.5) : counts.known_messages;
  }
};

/// How many of the collective operations are known of all processes.
double share_of_whole(const SearchCounts& counts) {
  const auto whole = static_cast<double>(counts.collectives), rest = static_cast<double>(counts.collectives_left_out);
  return whole + rest > 0 ? whole / (whole + rest) : 1;
}

class OfCollectives : public Pattern {
 public:
  using Pattern::Pattern;
  double confidence(const SearchCounts& counts) const override { return share_of_whole(counts); }
};

/// Of one call only the longest waiting counts, whatever it has waited for.
class LongestOfCall {
 public:
  struct Excess {
    std::int64_t ns, part_ns;
  };
  /// By what `ns` is more than what was added for this call before.
  std::int64_t excess(const Call& call, std::int64_t ns) { return excess(call, ns, 0).ns; }
  /// `part_ns` of `ns` is of a kind of its own: of this, likewise, what was added for the longest one before is off.
  Excess excess(const Call& call, std::int64_t ns, std::int64_t part_ns) {
    if (call.location >= recent_.size()) recent_.resize(call.location + std::size_t{1});
    std::deque<Longest>& recent = recent_[call.location];
    // Mostly it is a new call.
    const bool is_last = recent.empty() || recent.back().enter_ns < call.enter_ns;
    const auto at = is_last ? recent.end() : std::ranges::lower_bound(recent, call.enter_ns, {}, &Longest::enter_ns);
    if (at != recent.end() && at->enter_ns == call.enter_ns) {
      if (ns <= at->longest.ns) return {0, 0};
      const Excess before = std::exchange(at->longest, {ns, part_ns});
      return {ns - before.ns, part_ns - before.part_ns};
    }
    recent.insert(at, {call.enter_ns, {ns, part_ns}});
    // In a distributed search what others tell of some rounds comes after what is known here.
    constexpr std::size_t least_remembered = 256, most_of_all = std::size_t{1} << 18;
    if (recent.size() > std::max(least_remembered, most_of_all / recent_.size())) recent.pop_front();
    return {ns, part_ns};
  }

 private:
  struct Longest {
    std::int64_t enter_ns;
    Excess longest;
  };
  std::vector<std::deque<Longest>> recent_;  ///< by location, the last ones, ascending
};

class LateSenderPattern final : public OfMessages {
 public:
  LateSenderPattern() : OfMessages({"late_sender", "p2p", "Receivers wait for senders", true}) {}
  void subscribe(Search& search) override {
    search.subscribe<Receiving>([this, &search](const Receiving& receiving) {
      if (receiving.waiting_ns <= 0) return;
      search.add(quantity(), receiving.call, receiving.waiting_ns);
      search.publish(LateSender{receiving});
    });
  }
};

/// Messages that could have been received meanwhile were on their way.
class WrongOrder final : public OfOrders {
 public:
  enum class Of : std::uint8_t { Any, SameSource, OtherSources };
  WrongOrder(About about, Of of) : OfOrders(std::move(about)), of_(of) {}
  void subscribe(Search& search) override {
    search.subscribe<LateSender>([this, &search](const LateSender& late) {
      const Received& latest = late.receiving.latest;
      // Where both are, the same source is the closer cause.
      const bool same = latest.older_of_source, others = latest.older_of_others && !same;
      if (of_ == Of::Any ? same || others : of_ == Of::SameSource ? same : others)
        search.add(quantity(), late.receiving.call, late.receiving.waiting_ns);
    });
  }

 private:
  Of of_;
};

class LateReceiverPattern final : public OfMessages {
 public:
  LateReceiverPattern() : OfMessages({"late_receiver", "p2p", "Senders wait for receivers", true}) {}
  void subscribe(Search& search) override {
    search.subscribe<Sending>([this, &search](const Sending& sending) {
      if (sending.waiting_ns <= 0) return;
      search.add(quantity(), sending.call, sending.waiting_ns);
      search.publish(LateReceiver{sending});
    });
  }
};

class SlowSlaves final : public OfMessages {
 public:
  explicit SlowSlaves(std::int32_t master)
      : OfMessages({"slow_slaves", "late_sender", "The master waits for results"}), master_(master) {}
  void subscribe(Search& search) override {
    search.subscribe<LateSender>([this, &search](const LateSender& late) {
      const Call& call = late.receiving.call;
      if (search.trace().locations()[call.location].rank == master_)
        search.add(quantity(), call, late.receiving.waiting_ns);
    });
  }

 private:
  std::int32_t master_;
};

class OverloadedMaster final : public OfMessages {
 public:
  explicit OverloadedMaster(std::int32_t master)
      : OfMessages({"overloaded_master", "p2p", "Slaves wait for the master"}), master_(master) {}
  void subscribe(Search& search) override {
    const auto is_master = [this, &trace = search.trace()](std::uint32_t location) {
      return trace.locations()[location].rank == master_;
    };
    search.subscribe<LateSender>([this, &search, is_master](const LateSender& late) {
      const Call& call = late.receiving.call;
      if (is_master(late.receiving.latest.sender) && !is_master(call.location))
        search.add(quantity(), call, longest_.excess(call, late.receiving.waiting_ns));
    });
    search.subscribe<LateReceiver>([this, &search, is_master](const LateReceiver& late) {
      const Call& call = late.sending.call;
      if (is_master(late.sending.receiver) && !is_master(call.location))
        search.add(quantity(), call, longest_.excess(call, late.sending.waiting_ns));
    });
  }

 private:
  std::int32_t master_;
  LongestOfCall longest_;  ///< it may have sent and received
};

/// Each receive of a message while older ones to the same process were on their way costs its call, once.
class MessagesInWrongOrder final : public OfOrders {
 public:
  MessagesInWrongOrder()
      : OfOrders({"messages_in_wrong_order", "p2p", "Messages are received in another order than they were sent"}) {}
  void subscribe(Search& search) override {
    search.subscribe<Received>([this, &search](const Received& received) {
      if (!received.older_of_source && !received.older_of_others) return;
      const Call& call = received.call;
      if (last_location_ == call.location && last_enter_ns_ == call.enter_ns) return;
      last_location_ = call.location;
      last_enter_ns_ = call.enter_ns;
      search.add(quantity(), call, call.time_ns() - call.inner_ns);
    });
  }

 private:
  std::uint32_t last_location_ = 0xffffffff;
  std::int64_t last_enter_ns_ = 0;
};

class CollectivePattern final : public OfCollectives {
 public:
  /// Adds what it finds with `add(part, ns)`.
  using Find = void (*)(const Collective& of, const std::function<void(const CollectivePart&, std::int64_t)>& add);
  CollectivePattern(About about, Exchange exchange, Find find)
      : OfCollectives(std::move(about)), exchange_(exchange), find_(find) {}
  void subscribe(Search& search) override {
    search.subscribe<Collective>([this, &search](const Collective& of) {
      if (of.operation.exchange != exchange_) return;
      find_(of, [&](const CollectivePart& part, std::int64_t ns) {
        if (ns <= 0 || part.is_with_others || !search.looks_at(part.location)) return;
        const Call call = call_of(part);
        search.add(quantity(), call, part.is_blocking ? ns : longest_.excess(call, ns));
      });
    });
  }

 private:
  Exchange exchange_;
  Find find_;
  LongestOfCall longest_;
};

using Add = std::function<void(const CollectivePart&, std::int64_t)>;

void find_waiting(const Collective& of, const Add& add) {
  for_each_dependence(of.operation, [&](const CollectivePart& part, const CollectivePart& last) {
    add(part, time_in_call_until(part, last.begin_ns));
  });
}

void find_completion(const Collective& of, const Add& add) {
  for (const CollectivePart& part : of.operation.parts)
    add(part, part.leave_ns - std::max(of.first_leave_ns, part.enter_ns));
}

/// As the paper has it: by how much longer than the shortest one a process is in the barrier.
void find_imbalance(const Collective& of, const Add& add) {
  std::int64_t shortest = INT64_MAX;
  for (const CollectivePart& part : of.operation.parts) shortest = std::min(shortest, part.leave_ns - part.enter_ns);
  for (const CollectivePart& part : of.operation.parts) add(part, part.leave_ns - part.enter_ns - shortest);
}

/// How many of the fences and accesses are known of all that have taken part.
double share_of_epochs(const SearchCounts& counts) {
  const auto all = static_cast<double>(counts.window_epochs), left = static_cast<double>(counts.window_epochs_left_out);
  return all > 0 ? std::max(1 - left / all, 0.0) : 1;
}

class OfWindows : public Pattern {
 public:
  using Pattern::Pattern;
  double confidence(const SearchCounts& counts) const override { return share_of_epochs(counts); }
};

class WindowPattern final : public OfWindows {
 public:
  WindowPattern(About about, WindowWait::Of of) : OfWindows(std::move(about)), of_(of) {}
  void subscribe(Search& search) override {
    search.subscribe<WindowWait>([this, &search](const WindowWait& wait) {
      if (wait.of == of_) search.add(quantity(), wait.call, longest_.excess(wait.call, wait.waiting_ns));
    });
  }

 private:
  WindowWait::Of of_;
  LongestOfCall longest_;
};

/// Of the access that an exposure has waited for longest.
class LateComplete final : public OfWindows {
 public:
  LateComplete() : OfWindows({"late_complete", "early_wait", "... after the last operation of the access"}) {}
  void subscribe(Search& search) override {
    search.subscribe<WindowWait>([this, &search](const WindowWait& wait) {
      if (wait.of != WindowWait::Of::Complete) return;
      search.add(quantity(), wait.call, longest_.excess(wait.call, wait.waiting_ns, wait.idle_ns).part_ns);
    });
  }

 private:
  LongestOfCall longest_;
};

class JobWideWait final : public Pattern {
 public:
  JobWideWait(About about, bool is_init) : Pattern(std::move(about)), is_init_(is_init) {}
  void subscribe(Search& search) override {
    search.subscribe<JobWide>([this, &search](const JobWide& of) {
      if (of.is_init != is_init_) return;
      for (const Call& call : of.calls)
        search.add(quantity(), call, std::min(of.last_enter_ns, call.leave_ns) - call.enter_ns);
    });
  }

 private:
  bool is_init_;
};

/// Whatever a call has waited for: the longest of it.
class Waiting final : public Pattern {
 public:
  Waiting() : Pattern({waiting_name, "mpi", "Waiting for other processes, of whatever kind"}) {}
  void subscribe(Search& search) override {
    const auto add = [this, &search](const Call& call, std::int64_t ns, bool is_alone) {
      if (ns > 0 && search.looks_at(call.location))
        search.add(quantity(), call, is_alone ? ns : longest_.excess(call, ns));
    };
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
  double confidence(const SearchCounts& counts) const override {
    return std::min({counts.known_messages, share_of_whole(counts), share_of_epochs(counts)});
  }

 private:
  LongestOfCall longest_;
};

}  // namespace

Patterns waiting_patterns(const Parameters& parameters) {
  Patterns all;
  const auto add = [&](auto pattern) { all.push_back(std::move(pattern)); };
  const auto add_collective = [&](About about, Exchange exchange, CollectivePattern::Find find) {
    add(std::make_unique<CollectivePattern>(std::move(about), exchange, find));
  };
  using Of = WrongOrder::Of;
  add(std::make_unique<Waiting>());
  add(std::make_unique<LateSenderPattern>());
  add(std::make_unique<WrongOrder>(
      About{"late_sender_wrong_order", "late_sender", "... while older messages were on their way"}, Of::Any));
  add(std::make_unique<WrongOrder>(
      About{"wrong_order_same_source", "late_sender_wrong_order", "... of the same sender"}, Of::SameSource));
  add(std::make_unique<WrongOrder>(
      About{"wrong_order_different_sources", "late_sender_wrong_order", "... of other senders"}, Of::OtherSources));
  add(std::make_unique<SlowSlaves>(parameters.master));
  add(std::make_unique<LateReceiverPattern>());
  add(std::make_unique<OverloadedMaster>(parameters.master));
  add(std::make_unique<MessagesInWrongOrder>());
  add_collective({"wait_at_nxn", "collective", "All wait for the last process of an operation of all", true},
                 Exchange::AllToAll, find_waiting);
  add_collective({"nxn_completion", "collective", "An operation of all after the first process has left it"},
                 Exchange::AllToAll, find_completion);
  add_collective({"late_broadcast", "collective", "Receivers wait for the root", true}, Exchange::OneToAll,
                 find_waiting);
  add_collective({"early_reduce", "collective", "The root waits for senders", true}, Exchange::AllToOne, find_waiting);
  add_collective({"early_scan", "collective", "Processes wait for those before them", true}, Exchange::Prefix,
                 find_waiting);
  add_collective({"wait_at_barrier", "barrier", "All wait for the last process", true}, Exchange::Barrier,
                 find_waiting);
  add_collective({"barrier_completion", "barrier", "A barrier after the first process has left it"}, Exchange::Barrier,
                 find_completion);
  add_collective({"load_imbalance_at_barrier", "barrier", "Longer in the barrier than the last process"},
                 Exchange::Barrier, find_imbalance);
  const auto add_of_window = [&](About about, WindowWait::Of of) {
    add(std::make_unique<WindowPattern>(std::move(about), of));
  };
  add_of_window({"wait_at_fence", "one_sided_synchronization", "All wait for the last process at a fence", true},
                WindowWait::Of::Fence);
  add_of_window({"late_post", "mpi", "An access waits until its target is exposed", true}, WindowWait::Of::Post);
  add_of_window({"early_wait", "one_sided_synchronization", "An exposure waits until the last access has ended", true},
                WindowWait::Of::Complete);
  add(std::make_unique<LateComplete>());
  add_of_window({"lock_contention", "mpi", "A lock waits until another process gives it back", true},
                WindowWait::Of::Unlock);
  add(std::make_unique<JobWideWait>(
      About{"wait_at_init", "init_finalize", "Waiting for the last process to begin", true}, true));
  add(std::make_unique<JobWideWait>(
      About{"wait_at_finalize", "init_finalize", "Waiting for the last process to end", true}, false));
  return all;
}

}  // namespace refrain::patterns
