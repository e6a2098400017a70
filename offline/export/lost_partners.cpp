#include "offline/export/lost_partners.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <sstream>
#include <unordered_map>

#include "offline/trace/pairing.hpp"

namespace refrain::exports {
namespace {

using events::Kind;
using events::Phase;
using trace::Event;
using trace::MessageEvent;
using trace::MessagePair;
using trace::Type;

/// One pass over the events of all locations.
class Search {
 public:
  explicit Search(const trace::Trace& trace)
      : trace_(trace),
        pairing_(pairing_of(
            trace, [this](const MessagePair& pair) { free(pair.send), free(pair.receive); },
            [this](const MessageEvent& event, bool) { lost_.push_back(places_[event.token]), free(event); })),
        count_(trace.locations().size()) {
    for (const trace::RankOfTrace& of : trace.ranks()) ranks_.insert(of.rank);
  }

  struct Place {
    std::uint32_t location;
    std::uint64_t number;
    auto operator<=>(const Place&) const = default;
  };
  /// The communications to leave out, ascending; none when no events are missing after all.
  std::vector<Place> lost() {
    auto reader = trace_.read();
    while (const Event* event = reader.next()) {
      if (event->type == Type::Communication) add(*event);
      has_gap_ |= event->type == Type::Gap;
    }
    if (!has_gap_ && trace_.damage().count() == 0) return {};
    pairing_.finish();
    for (const auto& [request, place] : posted_) lost_.push_back(place);
    for (const auto& [operation, parts] : operations_) lost_.insert(lost_.end(), parts.begin(), parts.end());
    std::ranges::sort(lost_);
    return std::move(lost_);
  }

 private:
  void add(const Event& event) {
    const Place place{event.location, count_[event.location]++};
    const events::Record& r = event.record;
    if (events::is_message(r.kind)) add_message(event, place);
    else if (r.kind == Kind::Collective && events::has_number(r.kind, r.phase)) add_part(event, place);
  }

  void add_message(const Event& event, const Place& place) {
    const events::Record& r = event.record;
    if (r.kind == Kind::Receive && r.phase == Phase::Begun) posted_.insert_or_assign(trace_.request_of(event), place);
    if (r.kind == Kind::Receive && r.phase >= Phase::Completed) posted_.erase(trace_.request_of(event));
    // Messages to and from ranks outside the trace are not paired.
    if (!events::has_number(r.kind, r.phase) || !ranks_.contains(pairing_.ends_of(event).other)) return;
    std::uint32_t token = static_cast<std::uint32_t>(places_.size());
    if (free_.empty()) {
      places_.push_back(place);
    } else {
      token = free_.back();
      free_.pop_back();
      places_[token] = place;
    }
    pairing_.add(event, token);
  }

  void free(const MessageEvent& event) { free_.push_back(event.token); }

  void add_part(const Event& event, const Place& place) {
    const std::int32_t rank = trace_.locations()[place.location].rank;
    const std::int32_t communicator = trace_.communicators().index_of(rank, event.record.communicator);
    const std::size_t expected = communicator < 0 ? 0 : members_of(communicator);
    if (expected == 0) return;
    if (event.record.ordinal == events::no_ordinal) return lost_.push_back(place);
    const auto at = operations_.try_emplace({communicator, event.record.ordinal}).first;
    at->second.push_back(place);
    if (at->second.size() == expected) operations_.erase(at);
  }

  /// Number of members that are in the trace; 0 when the communicator's operations are ignored.
  std::size_t members_of(std::int32_t communicator) {
    const auto [at, is_new] = members_.try_emplace(communicator, 0);
    const trace::CommunicatorOfTrace& of = trace_.communicators().all()[static_cast<std::size_t>(communicator)];
    if (!is_new || of.remote_size > 0 || of.is_self) return at->second;
    for (std::size_t i = 0; i < of.members.size(); ++i) at->second += ranks_.contains(of.members[i]);
    return at->second;
  }

  const trace::Trace& trace_;
  std::set<std::int32_t> ranks_;
  trace::Pairing pairing_;
  std::vector<std::uint64_t> count_;  ///< communications so far, by location
  std::vector<Place> places_;         ///< of messages in flight, by token
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::uint64_t, Place> posted_;  ///< receives that are not completed
  std::map<std::pair<std::int32_t, std::uint64_t>, std::vector<Place>> operations_;
  std::unordered_map<std::int32_t, std::size_t> members_;
  std::vector<Place> lost_;
  bool has_gap_ = false;
};

}  // namespace

LostPartners::LostPartners(const trace::Trace& trace) {
  if (!trace.may_miss_events()) return;
  for (const Search::Place& of : Search(trace).lost()) add(of.location, of.number);
}

void LostPartners::add(std::uint32_t location, std::uint64_t number) {
  if (of_location_.size() <= location) of_location_.resize(std::size_t{location} + 1);
  std::vector<Range>& ranges = of_location_[location];
  if (!ranges.empty() && ranges.back().second == number) ++ranges.back().second;
  else ranges.emplace_back(number, number + 1);
}

bool LostPartners::has(std::uint32_t location, std::uint64_t number) const {
  if (location >= of_location_.size()) return false;
  const std::vector<Range>& ranges = of_location_[location];
  const auto behind = std::ranges::upper_bound(ranges, number, {}, &Range::first);
  return behind != ranges.begin() && number < std::prev(behind)->second;
}

std::string LostPartners::text() const {
  std::string text;
  for (std::size_t location = 0; location < of_location_.size(); ++location)
    for (const auto& [begin, end] : of_location_[location]) text += fmt::format("{} {} {} ", location, begin, end);
  return text;
}

LostPartners LostPartners::from(const std::string& text) {
  LostPartners made;
  std::istringstream in(text);
  std::uint32_t location = 0;
  Range range;
  while (in >> location >> range.first >> range.second) {
    if (made.of_location_.size() <= location) made.of_location_.resize(std::size_t{location} + 1);
    made.of_location_[location].push_back(range);
  }
  return made;
}

}  // namespace refrain::exports
