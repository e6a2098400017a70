#include "record/events_encoder.hpp"

#include <algorithm>

#include "measurement/regions.hpp"

namespace refrain::record {
namespace {

void encode_anchor(const platform::ClockAnchor& anchor, Encoder& out) {
  out.signed_varint(anchor.ticks);
  out.signed_varint(anchor.monotonic_ns);
}

void encode_stretches(const measurement::Stretches* stretches, Encoder& out) {
  using Group = measurement::Stretches::Group;
  const auto is_used = [](const Group& of) { return of.count > 0; };
  out.varint(stretches ? stretches->count() : 0);
  out.fixed(stretches ? stretches->hash() : std::uint64_t{0});
  if (!stretches) return out.varint(0);
  out.varint(static_cast<std::uint64_t>(std::ranges::count_if(stretches->groups(), is_used)));
  for (const Group& of : stretches->groups()) {
    if (!is_used(of)) continue;
    out.varint(of.opened);
    out.varint(of.closed);
    out.varint(of.count);
    out.varint(of.time);
  }
}

bool has_sampled(const LocationRecord& location) { return location.matched.is_on; }

/// Messages are in the order in which their calls ended, so most numbers are close to the previous ones.
void encode_messages(std::span<const events::SampledMessage> messages, Encoder& out) {
  using format::SampledMessageFlag;
  std::int64_t begin = 0;
  std::uint64_t ordinal = 0;
  out.varint(messages.size());
  for (const events::SampledMessage& of : messages) {
    const bool has_one_tag = of.number.tags_before == of.number.ordinal * events::hash_of_tag(of.tag);
    out.fixed(static_cast<std::uint8_t>((of.is_receive ? SampledMessageFlag::receive : 0) |
                                        (of.is_completed ? SampledMessageFlag::completed : 0) |
                                        (has_one_tag ? 0 : SampledMessageFlag::tags_before)));
    out.signed_varint(of.begin - begin);
    out.signed_varint(of.end - of.begin);
    out.varint(of.node);
    out.signed_varint(of.communicator);
    out.signed_varint(of.peer);
    out.signed_varint(of.tag);
    out.signed_varint(static_cast<std::int64_t>(of.number.ordinal - ordinal));
    if (!has_one_tag) out.fixed(of.number.tags_before);
    out.signed_varint(of.bytes);
    if (of.is_receive) out.varint(of.receives);
    if (of.is_completed) {
      out.signed_varint(of.begun_thread);
      out.varint(of.begun_node);
    }
    begin = of.begin;
    ordinal = of.number.ordinal;
  }
}

}  // namespace

bool has_sampled_messages(const RankRecord& record) { return std::ranges::any_of(record.locations, has_sampled); }

void encode_sampled_messages(const RankRecord& record, Encoder& out) {
  out.varint(static_cast<std::uint64_t>(std::ranges::count_if(record.locations, has_sampled)));
  for (const LocationRecord& location : record.locations) {
    if (!has_sampled(location)) continue;
    const MatchedRecord& sample = location.matched;
    out.signed_varint(location.thread);
    out.varint(sample.level);
    out.varint(sample.lost);
    out.signed_varint(sample.begin_time);
    encode_messages(sample.messages, out);
  }
}

void encode_events(const RankRecord& record, const Numbers& all_paths, Encoder& out) {
  out.fixed(static_cast<std::uint8_t>(record.event_mode));
  out.varint(record.event_bytes);
  encode_anchor(record.first_anchor, out);
  encode_anchor(record.last_anchor, out);
  out.varint(measurement::first_user_region);
  out.varint(record.user_regions.size());
  for (const char* name : record.user_regions) out.text(name);
  out.varint(record.locations.size());
  for_each_location(record, all_paths, [&](const LocationRecord& location, Paths paths) {
    out.signed_varint(location.thread);
    out.varint(location.events.records);
    out.varint(location.events.iterations);
    out.varint(location.events.lost);
    encode_node_paths(paths, out);
  });
  out.fixed(record.clock);
  out.varint(record.clock_offsets.size());
  for (const ClockOffset& of : record.clock_offsets) {
    out.signed_varint(of.rank);
    out.signed_varint(of.at_ns);
    out.signed_varint(of.offset_ns);
    out.varint(static_cast<std::uint64_t>(of.round_trip_ns));
  }
  if (record.event_mode != format::EventMode::Sampled) return;
  out.fixed(static_cast<std::uint8_t>(record.events_agreed));
  out.varint(record.event_levels.size());
  for (const EventLevel& of : record.event_levels) {
    out.varint(of.region);
    out.varint(of.level);
  }
  out.varint(record.slowest.size());
  for (const SlowIteration& of : record.slowest) {
    out.varint(of.region);
    out.varint(of.number);
    out.varint(of.ranks);
  }
  encode_stretches(record.stretches, out);
}

}  // namespace refrain::record
