#include "offline/patterns/matched_waits.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "format/mpi_functions.hpp"
#include "offline/run/leaf_reader.hpp"
#include "offline/run/totals.hpp"
#include "offline/trace/matched_messages.hpp"
#include "statistics/statistics.hpp"

namespace refrain::patterns {

enum class SideOfMessage : std::uint8_t { Receives, Sends };

namespace {

using format::MetricId;
using trace::MatchedMessage;

/// One side of messages of a node at a location.
struct PlaceOfMessages {
  std::uint32_t node, location;
  SideOfMessage side;
  auto operator<=>(const PlaceOfMessages&) const = default;
};

/// The profile's values for calls that received or completed messages, and for calls that sent some.
struct ProfileOfMessages {
  std::map<PlaceOfMessages, MatchedSide::Whole> places;
  std::map<std::uint32_t, double> time_ns;  ///< by node, of all calls
};

ProfileOfMessages profile_of_messages(const trace::Trace& trace, const Naming& naming) {
  ProfileOfMessages profile;
  run::LeafReader reader(trace.experiment());
  for (std::uint32_t location = 0; location < trace.locations().size(); ++location) {
    const run::Leaf* leaf = reader.of(trace.locations()[location].rank, trace.locations()[location].thread);
    if (!leaf) continue;
    // Other calls of the same call path move nothing, or only in the other direction.
    std::map<std::pair<std::uint32_t, SideOfMessage>, double> of_calls_ns;
    for (const experiment::CallDurations& calls : leaf->location.durations) {
      const double ns = 1e9 * run::seconds_of(leaf->rank, static_cast<double>(calls.durations[waits::Column::Time]));
      if (calls.bin.receives()) of_calls_ns[{calls.path, SideOfMessage::Receives}] += ns;
      if (calls.bin.sends()) of_calls_ns[{calls.path, SideOfMessage::Sends}] += ns;
    }
    for (const run::Row& row : leaf->rows) {
      if (row.kind != format::NodeKind::Region) continue;
      const auto value = [&](MetricId metric) { return static_cast<double>(row.value(metric)); };
      const double completed = value(MetricId::MessagesCompleted), time_ns = static_cast<double>(row.ns);
      profile.time_ns[naming.node_of(row.path)] += time_ns;
      const std::pair<SideOfMessage, double> sides[] = {
          {SideOfMessage::Receives, completed > 0 ? completed : value(MetricId::MessagesReceived)},
          {SideOfMessage::Sends, value(MetricId::MessagesSent)}};
      for (const auto& [side, messages] : sides) {
        const auto of_calls = of_calls_ns.find({row.path, side});
        MatchedSide::Whole& to = profile.places[{naming.node_of(row.path), location, side}];
        to.messages += messages;
        // If durations are missing, most calls of a polling function may have found nothing.
        const double unless_noted_ns = trace::function_of_mpi(trace.region_of(row.path)).waits_untold ? 0 : time_ns;
        to.time_ns += of_calls == of_calls_ns.end() ? unless_noted_ns : std::min(of_calls->second, time_ns);
      }
    }
  }
  return profile;
}

/// Fewer message numbers than this say nothing.
constexpr std::size_t fewest_numbers = 10;

/// Whether a function may wait for its receiver: it returns when the message was taken or is kept elsewhere.
bool is_blocking_send(const trace::Trace& trace, std::uint32_t path) {
  const format::MpiFunction* known = format::find_mpi_function(trace.region_of(path));
  return known && known->of == format::MpiClass::send && known->waits != format::MpiWaits::nobody;
}

struct WaitBounds {
  double least_ns = 0, most_ns = 0;
};
/// How long a blocking send waited until its receive was posted. If the receive was posted by another call than the one
/// that completed it, it was posted before the completing call.
WaitBounds late_receiver_bounds(const MatchedMessage& of) {
  const std::int64_t until = std::min(of.receive.enter_ns, of.send.leave_ns);
  const auto most = static_cast<double>(std::max(until - of.send.enter_ns, std::int64_t{0}));
  // A send that was left before did not wait.
  if (of.receive.enter_ns >= of.send.leave_ns && of.receive.posted_path == trace::no_path) return {};
  return {of.receive.posted_path == trace::no_path ? most : 0, most};
}

double duration_of_end(const trace::MessageEnd& end) { return static_cast<double>(end.leave_ns - end.enter_ns); }

/// The ends of messages at one place.
struct EndsAtPlace {
  std::vector<MatchedMessage> received;
  std::vector<MatchedSide::Message> messages;
  WaitBounds all;
};

std::map<PlaceOfMessages, EndsAtPlace> ends_at_places(const trace::Trace& trace, const Naming& naming,
                                                      const trace::MatchedMessages& matched) {
  std::map<PlaceOfMessages, EndsAtPlace> places;
  for (const MatchedMessage& of : matched.pairs()) {
    if (of.receive.path != trace::no_path) {
      EndsAtPlace& to = places[{naming.node_of(of.receive.path), of.receive.location, SideOfMessage::Receives}];
      to.received.push_back(of);
      to.messages.push_back({of.key.ordinal, duration_of_end(of.receive) / std::max(of.receive.receives, 1U),
                             static_cast<double>(of.waiting_ns())});
    }
    if (of.send.path != trace::no_path && is_blocking_send(trace, of.send.path)) {
      EndsAtPlace& to = places[{naming.node_of(of.send.path), of.send.location, SideOfMessage::Sends}];
      const WaitBounds bounds = late_receiver_bounds(of);
      to.messages.push_back({of.key.ordinal, duration_of_end(of.send), (bounds.least_ns + bounds.most_ns) / 2});
      to.all.least_ns += bounds.least_ns;
      to.all.most_ns += bounds.most_ns;
    }
  }
  const auto weight = static_cast<double>(std::uint64_t{1} << matched.level());
  for (auto& [place, ends] : places) {
    if (place.side != SideOfMessage::Receives) continue;
    const trace::LateSenders of = trace::late_senders(ends.received, matched.level());
    ends.all = {of.least_ns / weight, of.most_ns / weight};
  }
  return places;
}

}  // namespace

/// Messages among the events from before a location began to sample; they are not in the sample.
class MessagesBefore {
 public:
  explicit MessagesBefore(const trace::Trace& trace) {
    for (std::uint32_t location = 0; location < trace.locations().size(); ++location) {
      const experiment::MessageSample* sample = trace.sampled_messages(location);
      until_ns_.push_back(sample && sample->begin_time != 0 ? trace.time_of(location, sample->begin_time) : INT64_MAX);
    }
  }
  void add(const trace::Event& event) {
    if (event.type != trace::Type::Communication || event.time_ns >= until_ns_[event.location]) return;
    const events::Record& r = event.record;
    if (!events::is_message(r.kind) || !events::has_number(r.kind, r.phase) || event.path == trace::no_path) return;
    ++messages_[{event.location, event.path,
                 r.kind == events::Kind::Receive ? SideOfMessage::Receives : SideOfMessage::Sends}];
  }
  void tell(const Naming& naming, ProfileOfMessages& profile) const {
    for (const auto& [key, messages] : messages_) {
      const auto& [location, path, side] = key;
      if (const auto at = profile.places.find({naming.node_of(path), location, side}); at != profile.places.end())
        at->second.before += messages;
    }
  }

 private:
  std::vector<std::int64_t> until_ns_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, SideOfMessage>, double> messages_;  ///< by location, path and side
};

void MatchedSide::add(const std::vector<Message>& messages, double least_ns, double most_ns, const Whole& whole) {
  double time_ns = 0, waiting_ns = 0;
  for (const Message& of : messages) time_ns += of.time_ns, waiting_ns += of.waiting_ns;
  if (messages.empty() || whole.messages <= 0 || time_ns <= 0) return;
  const auto sampled = static_cast<double>(messages.size());
  const double times = std::max(whole.messages / sampled, 1.0);
  constexpr double half = 0.5;
  const double share = std::min(half * (least_ns + most_ns) / time_ns, 1.0);
  // Long calls are missing from the sample, and their share of waiting is not known.
  const double excess_ns = std::max(whole.time_ns - times * time_ns, 0.0), usual_ns = whole.time_ns - excess_ns;
  const double after = std::max(whole.messages - whole.before, 1.0);
  const double unsampled_ns = whole.time_ns * std::clamp(1 - sampled * whole.weight / after, 0.0, 1.0);
  ns_ += share * usual_ns + half * excess_ns;
  range_ns_ += std::min((most_ns - least_ns) / time_ns, 1.0) * usual_ns;
  open_ns_ += std::min(excess_ns + unsampled_ns, whole.time_ns);
  beside_middle_ns_ += std::abs(share - half) * unsampled_ns;
  time_ns_ += whole.time_ns;
  messages_ += messages.size();
  const double of_few = statistics::correction_of_sample(1 / times), scale = usual_ns / time_ns;
  unseen_time_ns_ += usual_ns * of_few;
  // The wait for one message is more than its part of the wait of a call that completes several.
  const double part = waiting_ns > 0 ? share * time_ns / waiting_ns : 0;
  for (const Message& of : messages) {
    OfNumber& to = of_number_[of.number];
    to.residual_ns += scale * (part * of.waiting_ns - share * of.time_ns) * of_few;
    to.time_ns += scale * of.time_ns;
  }
}

void MatchedSide::add_rest(double ns) {
  if (time_ns_ <= 0 || ns <= 0) return;
  constexpr double half = 0.5;
  const double share = std::min(ns_ / time_ns_, 1.0);
  ns_ += share * ns;
  time_ns_ += ns;
  open_ns_ += ns;
  beside_middle_ns_ += std::abs(share - half) * ns;
}

run::Replicates MatchedSide::replicates(std::int64_t place) const {
  constexpr std::uint64_t of_messages = 0x3c6ef372fe94f82b;  // in place of a loop number
  enum Doubt : std::uint64_t { Range = of_messages + 1, Open, BesideMiddle, Unseen };
  run::Replicates replicates;
  const auto n = static_cast<double>(of_number_.size());
  const double of_few = std::sqrt(n / std::max(n - 1, 1.0));
  double time_ns = 0, time_squares = 0;
  for (const auto& [number, of] : of_number_) {
    replicates.add(run::signs_of(of_messages, static_cast<std::int64_t>(number)), of.residual_ns * of_few);
    time_ns += of.time_ns;
    time_squares += of.time_ns * of.time_ns;
  }
  using namespace statistics;
  // A few long calls say as little as few calls do.
  const double effective = effective_samples(time_ns, time_squares);
  const std::pair<Doubt, double> doubts[] = {{Range, uniform_deviation(range_ns_)},
                                             {Open, uniform_deviation(open_ns_)},
                                             {BesideMiddle, beside_middle_ns_},
                                             {Unseen, unseen_time_ns_ * deviation_by_succession(effective)}};
  for (const auto& [doubt, ns] : doubts) replicates.add(run::signs_of(doubt, place), ns);
  return replicates;
}

class MatchedWaits::Impl {
 public:
  Impl(const trace::Trace& trace, std::optional<unsigned> as_level)
      : trace_(trace), has_all_events_(as_level.has_value()), matched_(trace, as_level), before_(trace) {}

  void add(const trace::Event& event) {
    matched_.add(event);
    if (!has_all_events_) before_.add(event);
  }

  std::vector<MatchedWait> by(const Naming& naming) const;

 private:
  const trace::Trace& trace_;
  const bool has_all_events_;
  trace::MatchedMessages matched_;
  MessagesBefore before_;
};

MatchedWaits::MatchedWaits(const trace::Trace& trace, std::optional<unsigned> as_level) {
  if (!trace.archive() && (as_level || trace.level_of_messages())) impl_ = std::make_unique<Impl>(trace, as_level);
}

MatchedWaits::~MatchedWaits() = default;

void MatchedWaits::add(const trace::Event& event) {
  if (impl_) impl_->add(event);
}

std::vector<MatchedWait> MatchedWaits::by(const Naming& naming) const {
  return impl_ ? impl_->by(naming) : std::vector<MatchedWait>();
}

std::vector<MatchedWait> MatchedWaits::Impl::by(const Naming& naming) const {
  ProfileOfMessages profile = profile_of_messages(trace_, naming);
  before_.tell(naming, profile);
  std::map<std::pair<std::uint32_t, SideOfMessage>, MatchedSide> nodes;
  const auto weight = static_cast<double>(std::uint64_t{1} << matched_.level());
  for (const auto& [place, ends] : ends_at_places(trace_, naming, matched_)) {
    const auto whole = profile.places.find(place);
    if (whole == profile.places.end()) continue;
    whole->second.weight = weight;
    nodes[{place.node, place.side}].add(ends.messages, ends.all.least_ns, ends.all.most_ns, whole->second);
  }
  std::vector<MatchedWait> waits;
  for (auto& [key, of] : nodes) {
    constexpr double least_part = 0.5;
    const double all_ns = profile.time_ns[key.first];
    if (of.numbers() < fewest_numbers || of.time_ns() < least_part * all_ns) continue;
    of.add_rest(all_ns - of.time_ns());
    const bool is_send = key.second == SideOfMessage::Sends;
    const std::int64_t place = 2 * std::int64_t{key.first} + (is_send ? 1 : 0);
    waits.push_back({key.first, of.ns(), of.replicates(place), of.messages(), is_send});
  }
  return waits;
}

}  // namespace refrain::patterns
