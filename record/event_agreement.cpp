#include "record/event_agreement.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "format/checksum.hpp"
#include "measurement/event_log.hpp"
#include "measurement/locations.hpp"
#include "measurement/regions.hpp"
#include "record/tree_exchange.hpp"

namespace refrain::record {
namespace {

using measurement::Location;

/// The level of each loop, found by a hash of the loop's name, because ranks number their loops differently. Two loops
/// whose names collide share the higher level, which costs iterations but is not wrong.
using Levels = std::array<std::uint8_t, 256>;

/// An iteration that is among the slowest of some ranks.
struct Candidate {
  std::uint64_t number;
  std::int64_t duration;  ///< in ticks, on the rank on which it was longest
  std::uint32_t loop;     ///< hash of its name
  std::uint32_t ranks;    ///< how many ranks have it
};
using Candidates = platform::GrowableArray<Candidate>;
/// Bounds the messages between ranks: beyond it, candidates of few ranks are dropped.
constexpr std::size_t max_candidates = 4096;

struct Maxima {
  Levels levels{};
  Levels sparse{};               ///< for one of 2^sparse kept iterations, the iteration before it is kept, too
  std::uint8_t of_messages = 0;  ///< level of the sample of messages
};
struct Proposal : Maxima {
  Candidates slowest;
};

/// Hash of a loop's name. 0: the time outside of iterations.
std::uint32_t hash_of_loop(std::uint16_t region) {
  const auto names = measurement::user_region_names();
  const std::size_t i = region - std::size_t{measurement::first_user_region};
  if (region == events::stretches) return 1;  // no name has this value
  if (region == 0 || i >= names.size()) return 0;
  return static_cast<std::uint32_t>(format::checksum(names[i], std::strlen(names[i]))) | 2;
}
std::uint8_t& level_of(Levels& levels, std::uint32_t loop) {
  return levels[loop == 0 ? 0 : 1 + loop % (levels.size() - 1)];
}

/// Calls `action` for the events of all locations whose threads do not append meanwhile.
template <class Do>
void for_each_store(Do action) {
  for (Location* l = measurement::first_location(); l; l = l->next)
    if (l->events && measurement::is_held(*l)) action(*l->events);
}

void cut(Candidates& candidates, std::size_t count) {
  if (candidates.size() > count) (void)candidates.resize(count);
}

/// Merges candidates of the same iteration. `same_rank`: they are from several locations of one rank.
void unify(Candidates& all, bool same_rank) {
  const auto iteration = [](const Candidate& c) { return std::tuple(c.loop, c.number); };
  std::sort(all.begin(), all.end(),
            [&](const Candidate& a, const Candidate& b) { return iteration(a) < iteration(b); });
  std::size_t count = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (count > 0 && iteration(all[count - 1]) == iteration(all[i])) {
      Candidate& known = all[count - 1];
      known.duration = std::max(known.duration, all[i].duration);
      if (!same_rank) known.ranks += all[i].ranks;
    } else {
      all[count++] = all[i];
    }
  }
  cut(all, count);
}

/// Candidates of more ranks come first, then longer ones.
bool is_before(const Candidate& a, const Candidate& b) {
  return std::tuple(b.ranks, b.duration, a.number) < std::tuple(a.ranks, a.duration, b.number);
}

void choose(Candidates& all, std::size_t of_each_loop) {
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.loop != b.loop ? a.loop < b.loop : is_before(a, b);
  });
  std::size_t count = 0, of_loop = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    of_loop = i > 0 && all[i].loop == all[i - 1].loop ? of_loop + 1 : 0;
    if (of_loop < of_each_loop) all[count++] = all[i];
  }
  cut(all, count);
}

bool append(platform::Bytes& message, const Proposal& proposal) {
  const Maxima& maxima = proposal;
  const auto slowest = std::as_bytes(proposal.slowest.view());
  return message.append(reinterpret_cast<const std::byte*>(&maxima), sizeof maxima) &&
         message.append(slowest.data(), slowest.size());
}

bool absorb(const platform::Bytes& message, Proposal& into) {
  constexpr std::size_t head = sizeof(Maxima);
  if (message.size() < head || (message.size() - head) % sizeof(Candidate) != 0) return false;
  Maxima other;
  std::memcpy(&other, message.data(), head);
  const auto larger = [](std::uint8_t a, std::uint8_t b) { return std::max(a, b); };
  std::ranges::transform(into.levels, other.levels, into.levels.begin(), larger);
  std::ranges::transform(into.sparse, other.sparse, into.sparse.begin(), larger);
  into.of_messages = larger(into.of_messages, other.of_messages);
  const std::size_t before = into.slowest.size(), more = (message.size() - head) / sizeof(Candidate);
  if (more == 0) return true;
  if (!into.slowest.resize(before + more)) return false;
  std::memcpy(into.slowest.data() + before, message.data() + head, more * sizeof(Candidate));
  unify(into.slowest, false);
  if (into.slowest.size() > max_candidates) {
    std::sort(into.slowest.begin(), into.slowest.end(), is_before);
    cut(into.slowest, max_candidates);
  }
  return true;
}

/// `good`: the proposal of this rank is complete. A rank that cannot go on, or has not heard from all ranks below it,
/// sends a refusal, so that nobody has to wait for the deadline. False: not all ranks have agreed, and nothing may be
/// exchanged afterwards.
bool exchange(const measurement::Peers& peers, Proposal& proposal, bool good, std::int64_t deadline) {
  if (peers.size <= 1) {
    if (good) choose(proposal.slowest, measurement::event_settings.slowest);
    return good;
  }
  constexpr std::byte refusal{};
  const TreePosition position = position_in_tree(peers.rank, peers.size);
  const bool is_root = position.parent < 0;
  good = receive_from_children(peers, position, deadline,
                               [&](int, const platform::Bytes& message) { return absorb(message, proposal); }) &&
         good;
  if (is_root && good) choose(proposal.slowest, measurement::event_settings.slowest);
  platform::Bytes message;
  if (!good || !append(message, proposal)) {
    message.clear();
    if (!message.append(&refusal, 1)) return false;
  }
  if (!is_root && !peers.send(peers.state, position.parent, message, deadline)) return false;
  if (!broadcast(peers, message, deadline)) return false;
  static_cast<Maxima&>(proposal) = {};
  cut(proposal.slowest, 0);
  return absorb(message, proposal);
}

/// Collects the proposal of this rank from all its locations.
bool propose(Proposal& proposal) {
  bool good = true;
  for_each_store([&](const measurement::EventLog& log) {
    proposal.of_messages = std::max(proposal.of_messages, static_cast<std::uint8_t>(log.matched.level()));
    for (const events::SpanStore::Loop& of : log.spans.loops()) {
      const std::uint32_t loop = hash_of_loop(of.region);
      std::uint8_t& level = level_of(proposal.levels, loop);
      level = std::max(level, of.level);
      std::uint8_t& sparse = level_of(proposal.sparse, loop);
      sparse = std::max(sparse, of.sparse);
      for (const events::SpanStore::Slow& slow : of.slowest())
        good = proposal.slowest.push_back({slow.number, slow.duration, loop, 1}) && good;
    }
  });
  unify(proposal.slowest, true);
  return good;
}

constinit platform::NeverDestroyed<Proposal> agreed_proposal{};
bool is_agreed = false;

/// The stretches of the first thread. They no longer change, or the thread is held. Null: there are none.
const measurement::Stretches* stretches() {
  const Location* first = measurement::first_location();
  while (first && first->thread != 0) first = first->next;
  if (!first || !first->events || !measurement::is_held(*first)) return nullptr;
  return &first->events->stretches;
}

}  // namespace

bool have_agreed_on_events() { return is_agreed; }

void describe_event_sample(RankRecord& record) {
  static std::array<EventLevel, events::SpanStore::max_loops> levels;
  static constinit platform::NeverDestroyed<platform::GrowableArray<SlowIteration>> slowest{};
  slowest.get().clear();
  Proposal now;
  if (!is_agreed && !propose(now)) return;
  Proposal& proposal = is_agreed ? agreed_proposal.get() : now;
  std::size_t count = 0;
  const auto add = [&](std::uint16_t region) {
    const auto known = std::span(levels).first(count);
    if (count == levels.size() || std::ranges::find(known, region, &EventLevel::region) != known.end()) return;
    const std::uint32_t loop = hash_of_loop(region);
    levels[count++] = {region, level_of(proposal.levels, loop)};
    for (const Candidate& of : proposal.slowest.view())
      if (of.loop == loop) (void)slowest.get().push_back({region, of.ranks, of.number});
  };
  for_each_store([&](const measurement::EventLog& log) {
    for (const events::SpanStore::Loop& of : log.spans.loops()) add(of.region);
  });
  record.events_agreed = is_agreed;
  record.event_levels = std::span(levels).first(count);
  record.slowest = slowest.get().view();
  record.stretches = stretches();
}

bool agree_on_events(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns) {
  Proposal& proposal = agreed_proposal.get();
  const bool good = propose(proposal);
  if (!exchange(peers, proposal, good, deadline_monotonic_ns)) return false;
  for_each_store([&](measurement::EventLog& log) {
    log.matched.agree(proposal.of_messages);
    for (const events::SpanStore::Loop& of : log.spans.loops()) {
      const std::uint32_t loop = hash_of_loop(of.region);
      std::array<std::uint64_t, events::SpanStore::max_slow> numbers;
      std::size_t count = 0;
      for (const Candidate& slow : proposal.slowest.view())
        if (slow.loop == loop && count < numbers.size()) numbers[count++] = slow.number;
      log.spans.agree(log.records, of.region, level_of(proposal.levels, loop), level_of(proposal.sparse, loop),
                      std::span(numbers).first(count));
    }
  });
  return is_agreed = true;
}

bool help_to_agree_on_events(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns) {
  Proposal proposal;
  return exchange(peers, proposal, true, deadline_monotonic_ns);
}

}  // namespace refrain::record
