#include "offline/trace/collectives.hpp"

#include <algorithm>

#include "format/hashing.hpp"
#include "offline/trace/open_requests.hpp"

namespace refrain::trace {

using events::Phase;

std::size_t Collectives::HashOfKey::operator()(const Key& key) const {
  return format::mixed(static_cast<std::uint32_t>(key.communicator) ^ format::mixed(key.ordinal));
}

Collectives::Collectives(const Trace& trace, Take take)
    : trace_(trace),
      take_(std::move(take)),
      of_location_(trace.archive() ? trace.locations().size() : 0),
      completing_(trace.locations().size()) {
  for (const RegionOfTrace& region : trace.regions()) functions_.push_back(function_of_mpi(region.name));
}

/// -1: not known, an intercommunicator, or MPI_COMM_SELF and the like.
std::int32_t Collectives::communicator_of(const Event& event) const {
  const std::int32_t rank = trace_.locations()[event.location].rank;
  const std::int32_t communicator = trace_.communicators().index_of(rank, event.record.communicator);
  if (communicator < 0) return -1;
  const CommunicatorOfTrace& of = trace_.communicators().all()[static_cast<std::size_t>(communicator)];
  return of.remote_size > 0 || of.is_self || of.size < 1 ? -1 : communicator;
}

bool Collectives::add(const Event& event, const OpenCall& call) {
  const events::Record& r = event.record;
  const bool completes = r.phase == Phase::Whole || r.phase == Phase::Completed;
  Part part;
  if (r.phase >= Phase::Completed) {
    const auto begun = begun_.find(trace_.request_of(event));
    if (begun == begun_.end()) return completes;
    part = begun->second;
    begun_.erase(begun);
    if (!completes) return false;
  } else {
    part.region = trace_.region_index(event.path);
    part.key.ordinal = r.ordinal;
    part.part.begin_ns = call.enter_ns;
    part.part.begin_path = call.path;
    part.part.is_blocking = r.phase == Phase::Whole;
    if (trace_.archive()) {
      InOrder& of = of_location_[event.location];
      part.place = of.first + of.parts.size();
      of.parts.emplace_back();
      constexpr std::size_t most_open = 4096;
      if (of.parts.size() > most_open) {
        of.is_lost = true;
        of.parts.clear();
      }
    }
  }
  // In an archive only the completion knows all of it.
  if (part.key.communicator < 0) part.key.communicator = communicator_of(event);
  CollectivePart& of = part.part;
  of.location = event.location;
  of.rank = trace_.locations()[event.location].rank;
  of.is_root |= r.peer == events::this_side ||
                (r.peer >= 0 && trace_.communicators().rank_of(of.rank, r.communicator, r.peer) == of.rank);
  of.bytes_sent = std::max(of.bytes_sent, r.bytes_sent);
  of.bytes_received = std::max(of.bytes_received, r.bytes_received);
  of.enter_ns = call.enter_ns;
  of.path = call.path;
  of.span = call.span;
  if (completes) completing_[event.location].push_back(std::move(part));
  else {
    // Freed requests never complete.
    if (begun_.size() >= most_open_requests(trace_.locations().size()))
      forget_older_half(
          begun_, [](const auto& begun) { return begun.second.part.begin_ns; }, [this](const auto&) { ++left_out_; });
    begun_.insert_or_assign(trace_.request_of(event), std::move(part));
  }
  return completes;
}

void Collectives::leave(const Event& event, std::int64_t enter_ns, std::int64_t inner_ns, bool is_with_others) {
  std::vector<Part>& completing = completing_[event.location];
  if (completing.empty()) [[likely]]
    return;
  std::vector<Part> rest;  // of a call around this one
  const std::vector<Part> all = std::exchange(completing, {});
  const auto together = static_cast<std::uint32_t>(std::ranges::count_if(
      all, [&](const Part& of) { return of.part.path == event.path && of.part.enter_ns == enter_ns; }));
  for (const Part& part : all) {
    if (part.part.path != event.path || part.part.enter_ns != enter_ns) {
      rest.push_back(part);
      continue;
    }
    Part done = part;
    done.part.leave_ns = event.time_ns;
    done.part.inner_ns = inner_ns;
    done.part.is_with_others = is_with_others;
    done.part.together = together;
    if (event.record.is_whole || trace_.archive()) left(std::move(done));
  }
  completing = std::move(rest);
}

void Collectives::left(Part part) {
  if (!trace_.archive()) return join(part);
  InOrder& of = of_location_[part.part.location];
  if (of.is_lost || part.place < of.first) {
    ++left_out_;
    return;
  }
  of.parts[part.place - of.first] = std::move(part);
  for (; !of.parts.empty() && of.parts.front(); of.parts.pop_front(), ++of.first) {
    Part& next = *of.parts.front();
    next.key.ordinal = of.next[next.key.communicator]++;
    join(next);
  }
}

void Collectives::join(const Part& part) {
  if (part.key.communicator < 0) return;  // see communicator_of()
  if (part.key.ordinal == events::no_ordinal) {
    ++left_out_;
    return;
  }
  auto at = open_.find(part.key);
  if (at == open_.end()) {
    constexpr std::size_t most_open = 4096, most_parts = std::size_t{1} << 20;
    while (!in_order_.empty() && (open_.size() >= most_open || open_parts_ >= most_parts)) leave_out(in_order_.begin());
    const Place place = in_order_.insert(in_order_.end(), CollectiveOperation{});
    place->communicator = part.key.communicator;
    place->ordinal = part.key.ordinal;
    place->region = part.region;
    if (part.region < functions_.size()) place->exchange = functions_[part.region].exchange;
    at = open_.emplace(part.key, place).first;
  }
  const Place place = at->second;
  place->parts.push_back(part.part);
  ++open_parts_;
  const CommunicatorOfTrace& communicator =
      trace_.communicators().all()[static_cast<std::size_t>(part.key.communicator)];
  const auto size = static_cast<std::size_t>(communicator.size);
  const std::size_t own = own_members_.empty() ? size : own_members_[static_cast<std::size_t>(part.key.communicator)];
  if (place->parts.size() == size) end(place);
  else if (place->parts.size() == own) leave_out(place);
}

/// Parts of the operation are missing.
void Collectives::leave_out(Place place) {
  if (take_part_) take_part_(*place);
  else ++left_out_;
  open_parts_ -= place->parts.size();
  open_.erase({place->communicator, place->ordinal});
  in_order_.erase(place);
}

void Collectives::set_positions(CollectiveOperation& operation) const {
  const CommunicatorOfTrace& communicator =
      trace_.communicators().all()[static_cast<std::size_t>(operation.communicator)];
  std::unordered_map<std::int32_t, std::int32_t> position;
  for (std::size_t i = 0; i < communicator.members.size(); ++i)
    position[communicator.members[i]] = static_cast<std::int32_t>(i);
  for (CollectivePart& part : operation.parts)
    if (const auto at = position.find(part.rank); at != position.end()) part.position = at->second;
}

void Collectives::end(Place place) {
  ++whole_;
  open_parts_ -= place->parts.size();
  if (place->exchange == Exchange::Prefix) set_positions(*place);
  take_(*place);
  open_.erase({place->communicator, place->ordinal});
  in_order_.erase(place);
}

void Collectives::finish() {
  while (!in_order_.empty()) leave_out(in_order_.begin());
  for (const InOrder& of : of_location_)
    left_out_ +=
        static_cast<std::uint64_t>(std::ranges::count_if(of.parts, [](const auto& p) { return p.has_value(); }));
  begun_.clear();
}

}  // namespace refrain::trace
