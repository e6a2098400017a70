#include "offline/patterns/causes.hpp"

#include <algorithm>
#include <cmath>

#include "statistics/statistics.hpp"

namespace refrain::patterns {

using trace::CollectivePart;
using trace::Exchange;

namespace {

std::uint64_t key_of(std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} << 32 | b; }
std::uint64_t pair_of(std::uint32_t a, std::uint32_t b) { return key_of(std::min(a, b), std::max(a, b)); }
double weight_of(const Sampled& of) { return of.cpu_ns > 0 ? static_cast<double>(of.cpu_ns) : 1; }

}  // namespace

Causes::Causes(Search& search) : of_location_(search.trace().locations().size()) {
  search.subscribe<Call>([this](const Call& of) { call(of); });
  search.subscribe<Waited>([this](const Waited& of) { waited(of); });
  search.subscribe<Collective>([this](const Collective& of) { collective(of); });
  search.subscribe<JobWide>([this](const JobWide& of) { job_wide(of); });
  search.subscribe<Sampled>([this](const Sampled& of) { sampled(of); });
  search.subscribe<Break>([this](const Break& of) {
    OfLocation& location = of_location_[of.location];
    location.calls.clear();
    location.samples.clear();
    location.known_since_ns = of.ns;
  });
}

void Causes::call(const Call& call) {
  if (call.call_class == trace::CallClass::NotMpi) return;
  OfLocation& of = of_location_[call.location];
  of.calls.take_out_inner(call, [](const Past&) {});
  add_samples(call, of);
  const Waited* early = of.calls.early_wait(call.enter_ns);
  of.calls.add({call.enter_ns, call.leave_ns, early ? early->waiting_ns : 0, call.path, call.off_cpu_ns});
  if (const auto oldest = of.calls.forget_oldest()) of.known_since_ns = oldest->leave_ns;
  while (!of.samples.empty() && of.samples.front().ns < of.known_since_ns) of.samples.pop_front();
}

void Causes::sampled(const Sampled& of) {
  constexpr std::size_t most = 65536;
  OfLocation& location = of_location_[of.location];
  if (of.cpu_ns > 0) {
    location.sampled_ns += static_cast<double>(of.cpu_ns);
    ++location.sample_count;
  }
  if (location.samples.size() >= most) thin_out(location.samples);
  location.samples.push_back(of);
}

void Causes::thin_out(std::deque<Sampled>& samples) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i + 1 < samples.size(); i += 2) {
    samples[kept] = samples[i];
    samples[kept++].cpu_ns += samples[i + 1].cpu_ns;
  }
  samples.resize(kept);
}

double Causes::period_ns(std::uint32_t location) const {
  const OfLocation& of = of_location_[location];
  return of.sample_count > 0 ? of.sampled_ns / of.sample_count : 0;
}

void Causes::add_samples(const Call& call, const OfLocation& of) {
  const std::uint32_t before = of.calls.empty() ? trace::no_path : of.calls.last().path;
  const std::int64_t begin_ns = of.calls.empty() ? of.known_since_ns : of.calls.last().leave_ns;
  auto at = std::ranges::lower_bound(of.samples, begin_ns, {}, &Sampled::ns);
  if (at == of.samples.end()) return;
  Weights& weights = samples_[{call.location, false, before, call.path}];
  for (; at != of.samples.end() && at->ns < call.enter_ns; ++at) weights[at->path].add(weight_of(*at));
}

SampledShares Causes::shares_of(const Weights& weights) {
  SampledShares shares;
  Weight all;
  for (const auto& [path, weight] : weights) all.sum += weight.sum, all.squares += weight.squares;
  if (all.sum <= 0) return shares;
  for (const auto& [path, weight] : weights) shares.by_path.emplace_back(path, weight.sum / all.sum);
  shares.samples = statistics::effective_samples(all.sum, all.squares);
  return shares;
}

SampledShares Causes::shares_of(const Activity& computation, const PartSum& sum) const {
  constexpr double fewest = 5, certain = 4, least_missing = 0.1;
  SampledShares shares = shares_of(sum.samples);
  const double wall_ns = std::abs(sum.ns);
  double cpu_ns = 0;
  for (const auto& [path, weight] : sum.samples) cpu_ns += weight.sum;
  const double missing_ns = wall_ns - cpu_ns;
  if (sum.variance > 0 && missing_ns > certain * std::sqrt(sum.variance) && missing_ns > least_missing * wall_ns) {
    for (auto& [path, share] : shares.by_path) share *= cpu_ns / wall_ns;
    shares.by_path.emplace_back(trace::no_path, missing_ns / wall_ns);
    shares.samples = std::max(shares.samples, wall_ns * wall_ns / sum.variance);
    return shares;
  }
  if (shares.samples >= fewest) return shares;
  const auto at = samples_.find(computation);
  return at == samples_.end() ? shares : shares_of(at->second);
}

void Causes::collective(const Collective& of) {
  std::vector<std::uint32_t> locations;
  for (const CollectivePart& part : of.operation.parts) locations.push_back(part.location);
  const Exchange exchange = of.operation.exchange;
  if (exchange == Exchange::Barrier || exchange == Exchange::AllToAll) in_step(locations, of.last_enter_ns);
}

void Causes::job_wide(const JobWide& of) {
  std::vector<std::uint32_t> locations;
  for (const Call& call : of.calls) locations.push_back(call.location);
  in_step(locations, of.last_enter_ns);
}

void Causes::in_step(std::span<const std::uint32_t> locations, std::int64_t ns) {
  ++operations_;
  for (const std::uint32_t location : locations) {
    of_location_[location].in_step_ns = ns;
    of_location_[location].operation = operations_;
  }
}

/// The last time at which both were in step, but not before their calls are known.
std::int64_t Causes::in_step_since(std::uint32_t a, std::uint32_t b) const {
  const OfLocation &of_a = of_location_[a], &of_b = of_location_[b];
  std::int64_t since = std::max(of_a.known_since_ns, of_b.known_since_ns);
  if (of_a.operation == of_b.operation && of_a.operation > 0) since = std::max(since, of_a.in_step_ns);
  if (const auto message = pairs_.find(pair_of(a, b)); message != pairs_.end())
    since = std::max(since, message->second);
  return since;
}

/// Returns by how much the wait exceeds the known waiting of its call: only the longest wait of a call counts.
std::int64_t Causes::add_waiting(const Waited& of) {
  RecentCalls<Past>& calls = of_location_[of.waiter.location].calls;
  Past* const call = calls.at(of.waiter.ns);
  const Waited* const early = call ? nullptr : calls.early_wait(of.waiter.ns);
  const std::int64_t known_ns = call ? call->waiting_ns : early ? early->waiting_ns : 0;
  if (of.waiting_ns <= known_ns) return 0;
  if (call) call->waiting_ns = of.waiting_ns;
  else calls.wait_before_it_is_told(of);
  return of.waiting_ns - known_ns;
}

Causes::Group& Causes::group_of(std::uint32_t location, std::uint32_t path) {
  const auto [at, is_new] = group_at_.try_emplace(key_of(location, path), static_cast<std::uint32_t>(groups_.size()));
  if (is_new) groups_.push_back({location, path, 0, {}});
  return groups_[at->second];
}

void Causes::waited(const Waited& of) {
  const Moment &waiter = of.waiter, &delayer = of.delayer;
  const std::int64_t more = add_waiting(of);
  if (more == 0) return;
  Group& group = group_of(waiter.location, waiter.path);
  group.waiting_ns += static_cast<double>(more);
  const std::int64_t since = in_step_since(waiter.location, delayer.location);
  const double factor = static_cast<double>(more) / static_cast<double>(of.waiting_ns);
  read_pieces(delayer, since, others_);
  read_pieces(waiter, since, own_);
  meet_at_the_wait(own_, others_);
  add(group, delayer.location, &Both::other, delayer.location, others_, factor);
  add(group, delayer.location, &Both::own, waiter.location, own_, factor);
  // Only a wait puts both in step: a process that did not wait may still be behind.
  std::int64_t& in_step = pairs_.try_emplace(pair_of(waiter.location, delayer.location), delayer.ns).first->second;
  in_step = std::max(in_step, delayer.ns);
}

double Causes::Past::off_cpu_share() const {
  const std::int64_t own_ns = leave_ns - enter_ns - waiting_ns;
  return own_ns > 0 ? std::clamp(static_cast<double>(off_cpu_ns - waiting_ns) / static_cast<double>(own_ns), 0.0, 1.0)
                    : 0;
}

/// What the location of `end` did from `from_ns` until that moment, last piece first.
void Causes::read_pieces(const Moment& end, std::int64_t from_ns, std::vector<Piece>& pieces) const {
  pieces.clear();
  const auto add = [&](Kind kind, std::uint32_t before, std::uint32_t after, std::int64_t begin, std::int64_t behind,
                       double off_cpu_share = 0) {
    begin = std::max(begin, from_ns);
    if (behind > begin) pieces.push_back({kind, before, after, begin, behind, off_cpu_share});
  };
  std::int64_t next_ns = end.ns;
  std::uint32_t next_path = end.path;
  const auto& calls = of_location_[end.location].calls.all();
  for (auto at = calls.rbegin(); at != calls.rend() && next_ns > from_ns; ++at) {
    if (at->enter_ns >= end.ns) continue;
    const std::int64_t leave_ns = std::min(at->leave_ns, next_ns);
    add(Kind::Computation, at->path, next_path, leave_ns, next_ns);
    const std::int64_t waited_ns = std::min(at->enter_ns + at->waiting_ns, leave_ns);
    add(Kind::Call, at->path, trace::no_path, waited_ns, leave_ns, at->off_cpu_share());
    add(Kind::Wait, at->path, trace::no_path, at->enter_ns, waited_ns);
    next_ns = at->enter_ns;
    next_path = at->path;
  }
  // Before the first known call.
  if (next_ns > from_ns) add(Kind::Computation, trace::no_path, next_path, from_ns, next_ns);
}

/// A receive and its send are different calls. The computations that lead to them from the same call are compared
/// nevertheless, unless the other location also has the computation that leads to the waiting call.
void Causes::meet_at_the_wait(std::vector<Piece>& own, const std::vector<Piece>& others) {
  if (own.empty() || others.empty()) return;
  Piece& last = own.front();
  const Piece& last_of_other = others.front();
  if (last.kind != Kind::Computation || last_of_other.kind != Kind::Computation || last.before != last_of_other.before)
    return;
  const bool is_known = std::ranges::any_of(others, [&](const Piece& of) {
    return of.kind == Kind::Computation && of.before == last.before && of.after == last.after;
  });
  if (!is_known) last.after = last_of_other.after;
}

/// Adds the pieces, times the factor, to what the delaying location or the waiting location did (`whose`).
void Causes::add(Group& group, std::uint32_t other, Did Both::*whose, std::uint32_t location,
                 std::span<const Piece> pieces, double factor) const {
  const std::deque<Sampled>& samples = of_location_[location].samples;
  for (const Piece& piece : pieces) {
    Did& did = group.done[{other, piece.kind, piece.before, piece.after}].*whose;
    const double ns = factor * static_cast<double>(piece.behind_ns - piece.begin_ns);
    did.ns += ns;
    did.off_cpu_ns += ns * piece.off_cpu_share;
    if (piece.kind != Kind::Computation) continue;
    auto at = std::ranges::lower_bound(samples, piece.begin_ns, {}, &Sampled::ns);
    for (; at != samples.end() && at->ns < piece.behind_ns; ++at) did.samples[at->path].add(factor * weight_of(*at));
  }
}

/// Adds `did` as if it had been done `factor` times.
void Causes::PartSum::add(const Did& did, double factor, double period_ns) {
  ns += factor * did.ns;
  for (const auto& [path, weight] : did.samples) {
    samples[path].sum += factor * weight.sum;
    samples[path].squares += factor * factor * weight.squares;
  }
  variance += factor * factor * period_ns * did.ns;
}

/// Costs flow from waits to their causes, and onwards if the cause is itself a wait.
CausesFound Causes::found(const IsMeant& is_meant) const {
  struct Share {
    Doing of;
    double share;
    const Both* both;
    std::optional<std::size_t> group;  ///< only for a wait
  };
  std::vector<std::vector<Share>> shares(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    double sum = 0;
    for (const auto& [doing, both] : groups_[i].done) sum += std::max(both.excess_ns(), 0.0);
    if (sum <= 0) continue;
    for (const auto& [doing, both] : groups_[i].done) {
      const double ns = both.excess_ns();
      if (ns <= 0) continue;
      const auto at = group_at_.find(key_of(doing.location, doing.before));
      const bool is_wait = doing.kind == Kind::Wait && at != group_at_.end();
      shares[i].push_back({doing, ns / sum, &both, is_wait ? std::optional<std::size_t>(at->second) : std::nullopt});
    }
  }
  CausesFound found;
  std::map<Activity, Cause> causes;
  // For computations: by location, and whether it is the waiting location.
  std::map<Activity, std::map<std::pair<std::uint32_t, bool>, PartSum>> parts;
  std::vector<double> flowing;
  for (const Group& group : groups_) {
    flowing.push_back(!is_meant || is_meant(group.path) ? group.waiting_ns : 0);
    found.waiting_ns += flowing.back();
  }
  constexpr int longest_chain = 1000;
  constexpr double negligible = 1e-6;
  for (int step = 0; step < longest_chain; ++step) {
    std::vector<double> next(groups_.size());
    double rest = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (flowing[i] <= 0) continue;
      if (shares[i].empty()) found.unknown_ns += flowing[i];
      for (const Share& share : shares[i]) {
        const double ns = flowing[i] * share.share;
        if (share.group) {
          next[*share.group] += ns;
          rest += ns;
          continue;
        }
        // A wait about which nothing more is known counts as its call.
        const Activity activity{share.of.location, share.of.kind != Kind::Computation, share.of.before, share.of.after};
        Cause& cause = causes.try_emplace(activity, Cause{activity, 0, 0, 0, {}}).first->second;
        cause.ns += ns;
        if (step == 0) cause.direct_ns += ns;
        if (activity.is_call) {
          cause.off_cpu_ns += ns * share.both->off_cpu_share();
          continue;
        }
        const double factor = ns / share.both->excess_ns();
        const std::uint32_t other = activity.location, own = groups_[i].location;
        parts[activity][{other, false}].add(share.both->other, factor, period_ns(other));
        parts[activity][{own, true}].add(share.both->own, factor, period_ns(own));
      }
    }
    flowing = std::move(next);
    if (rest <= negligible * found.waiting_ns) break;
  }
  for (const double ns : flowing) found.unknown_ns += ns;
  for (auto& [activity, cause] : causes) {
    for (const auto& [of, sum] : parts[activity])
      cause.parts.push_back(
          {of.second ? -sum.ns : sum.ns, shares_of({of.first, false, activity.before, activity.after}, sum)});
    found.causes.push_back(std::move(cause));
  }
  std::ranges::stable_sort(found.causes, std::greater<>{}, &Cause::ns);
  return found;
}

}  // namespace refrain::patterns
