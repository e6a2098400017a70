#include "offline/experiment/events_reader.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "format/bytes.hpp"
#include "format/checksum.hpp"
#include "format/event_file.hpp"
#include "format/kept_iterations.hpp"
#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/folder.hpp"
#include "offline/experiment/frame_search.hpp"
#include "offline/experiment/unpack.hpp"

namespace refrain::experiment {
namespace {

constexpr const char* frame_text = "a frame of events";
constexpr std::size_t around = format::event_head_size + format::checksum_size;

struct Head {
  EventFrame frame;
  format::Encoding encoding;
  std::uint64_t stored, raw;
};

/// `end`: end of the range that may hold the frame. The range must have room for a frame without contents.
Head parse_head(const InputFile& file, std::uint64_t at, std::uint64_t end, std::span<const std::byte> bytes) {
  const auto load = [&]<class T>(std::size_t offset, T) {
    return format::load_little_endian<T>(bytes.data() + offset);
  };
  if (load(0, std::uint32_t{}) != format::event_magic) file.fail(at, "not a frame of events");
  if (const auto version = load(4, std::uint16_t{}); version == 0 || version > format::event_version)
    file.fail(at, "a frame of events of a version that this Refrain does not know");
  if (load(format::head_checksum_offset, std::uint32_t{}) !=
      format::head_checksum(std::span<const std::byte, format::event_head_size>(bytes.data(), format::event_head_size)))
    file.fail(at, "the head of a frame of events has a wrong checksum");
  Head head{};
  head.encoding = format::Encoding{load(6, std::uint16_t{})};
  head.frame.thread = head.frame.begin.thread = load(8, std::int32_t{});
  head.frame.records = load(12, std::uint32_t{});
  head.frame.begin.time = load(16, std::int64_t{});
  head.frame.begin.request = load(24, std::uint64_t{});
  head.frame.begin.node = load(32, std::uint32_t{});
  head.frame.end = load(40, std::int64_t{});
  head.stored = load(48, std::uint64_t{});
  head.raw = load(56, std::uint64_t{});
  head.frame.offset = at;
  head.frame.size = head.stored + around;
  if (head.raw > format::largest_event_frame || head.stored > head.raw || head.frame.records > head.raw)
    file.fail(at, "a frame of events of an impossible size");
  if (head.stored > end - at - around) file.fail(at, "a frame of events is cut");
  return head;
}

Head read_head(const InputFile& file, std::uint64_t at, std::uint64_t end) {
  if (end - at < around) file.fail(at, "a frame of events is cut");
  return parse_head(file, at, end, file.read(at, format::event_head_size, frame_text));
}

/// The frame as stored, with its head. Throws ReadError when the checksum is wrong.
std::vector<std::byte> read_whole(const InputFile& file, std::uint64_t at, std::uint64_t size) {
  auto whole = file.read(at, size, frame_text);
  const std::size_t summed = whole.size() - format::checksum_size;
  if (format::load_little_endian<std::uint64_t>(&whole[summed]) != format::checksum(whole.data(), summed))
    file.fail(at, "a frame of events has a wrong checksum");
  return whole;
}

/// Offset of the next intact frame at or after `at`; `end` when there is none.
std::uint64_t next_frame(const InputFile& file, std::uint64_t at, std::uint64_t end) {
  return find_frame(file, at, end, format::event_magic, frame_text, [&](std::uint64_t place) {
    (void)read_whole(file, place, read_head(file, place, end).frame.size);
  });
}

ClockReading read_clock(SectionReader& in) {
  ClockReading reading;
  reading.ticks = in.signed_varint();
  reading.monotonic_ns = in.signed_varint();
  return reading;
}

void read_levels(SectionReader& in, EventsOfRank& events) {
  events.levels_agreed = in.fixed<std::uint8_t>() != 0;
  for (std::size_t n = in.count(2); n > 0; --n) {
    const std::uint64_t region = in.varint(), level = in.varint();
    in.check();
    if (region > 0xffff || level > format::highest_level) in.refuse("events of too few iterations");
    events.levels.push_back({static_cast<std::uint32_t>(region), static_cast<unsigned>(level)});
  }
  for (std::size_t n = in.count(3); n > 0; --n) {
    const std::uint64_t region = in.varint(), iteration = in.varint(), ranks = in.varint();
    in.check();
    if (region > 0xffff || iteration >> 48 != 0 || ranks > std::numeric_limits<std::int32_t>::max())
      in.refuse("an impossible iteration");
    events.slowest.push_back(
        {static_cast<std::uint32_t>(region), static_cast<std::uint32_t>(ranks), static_cast<std::int64_t>(iteration)});
  }
}

void read_stretches(SectionReader& in, EventsOfRank& events) {
  events.stretches = in.varint();
  events.stretches_hash = in.fixed<std::uint64_t>();
  const auto first = std::ranges::find(events.locations, 0, &EventsOfLocation::thread);
  const auto path_of = [&](std::uint64_t node) {
    if (node == events::no_node) return events::no_node;
    if (first == events.locations.end() || node >= first->paths.size()) in.refuse("a call path that is not there");
    return first->paths[node];
  };
  for (std::size_t n = in.count(4); n > 0; --n) {
    events.stretch_groups.push_back(
        {.opened = path_of(in.varint()), .closed = path_of(in.varint()), .count = in.varint(), .ticks = in.varint()});
    in.check();
  }
}

std::vector<events::SampledMessage> read_messages(SectionReader& in) {
  using format::SampledMessageFlag;
  constexpr std::size_t least_size = 9;  // bytes of a message
  std::vector<events::SampledMessage> messages(in.count(least_size));
  std::int64_t begin = 0;
  std::uint64_t ordinal = 0;
  for (events::SampledMessage& of : messages) {
    const auto flags = in.fixed<std::uint8_t>();
    of.is_receive = (flags & SampledMessageFlag::receive) != 0;
    of.is_completed = (flags & SampledMessageFlag::completed) != 0;
    of.begin = begin = format::wrapping_sum(begin, in.signed_varint());
    of.end = format::wrapping_sum(begin, in.signed_varint());
    of.node = static_cast<std::uint32_t>(in.varint());
    of.communicator = static_cast<std::int32_t>(in.signed_varint());
    of.peer = static_cast<std::int32_t>(in.signed_varint());
    of.tag = static_cast<std::int32_t>(in.signed_varint());
    of.number.ordinal = ordinal += static_cast<std::uint64_t>(in.signed_varint());
    of.number.tags_before = (flags & SampledMessageFlag::tags_before) != 0 ? in.fixed<std::uint64_t>()
                                                                           : ordinal * events::hash_of_tag(of.tag);
    of.bytes = in.signed_varint();
    if (of.is_receive) of.receives = static_cast<std::uint32_t>(in.varint());
    if (of.is_completed) {
      of.begun_thread = static_cast<std::int32_t>(in.signed_varint());
      of.begun_node = static_cast<std::uint32_t>(in.varint());
    }
    in.check();
  }
  return messages;
}

}  // namespace

void read_sampled_messages(SectionReader& in, EventsOfRank& events) {
  for (std::size_t n = in.count(5); n > 0; --n) {
    const std::int64_t thread = in.signed_varint();
    const auto of = std::ranges::find(events.locations, thread, &EventsOfLocation::thread);
    if (of == events.locations.end()) in.refuse("messages of a thread that is not there");
    MessageSample sample;
    const std::uint64_t level = in.varint();
    if (level > format::highest_level) in.refuse("too few messages");
    sample.level = static_cast<unsigned>(level);
    sample.lost = in.varint();
    sample.begin_time = in.signed_varint();
    sample.messages = read_messages(in);
    in.check();
    of->sampled = std::move(sample);
  }
  in.finish();
}

EventsOfRank read_events(SectionReader& in, const Rank& rank) {
  EventsOfRank events;
  const auto mode = in.fixed<std::uint8_t>();
  if (mode > static_cast<std::uint8_t>(format::EventMode::Sampled)) in.refuse("events of an unknown mode");
  events.mode = format::EventMode{mode};
  events.bytes = in.varint();
  events.first = read_clock(in);
  events.last = read_clock(in);
  events.first_region = static_cast<std::uint32_t>(in.varint());
  for (std::size_t n = in.count(1); n > 0; --n) events.regions.push_back(clean_text(in.name(NameKind::Region)));
  for (std::size_t n = in.count(5); n > 0; --n) {
    EventsOfLocation& of = events.locations.emplace_back();
    of.thread = static_cast<std::int32_t>(in.signed_varint());
    of.records = in.varint();
    of.iterations = in.varint();
    of.lost = in.varint();
    if (!read_node_paths(in, rank.paths, of.paths)) in.refuse("a call path that is not there");
    in.check();
  }
  events.clock = in.fixed<std::uint64_t>();
  for (std::size_t n = in.count(4); n > 0; --n) {
    events.clock_offsets.push_back({.rank = static_cast<std::int32_t>(in.signed_varint()),
                                    .at_ns = in.signed_varint(),
                                    .offset_ns = in.signed_varint(),
                                    .round_trip_ns = static_cast<std::int64_t>(in.varint())});
    in.check();
  }
  if (events.mode == format::EventMode::Sampled) {
    read_levels(in, events);
    read_stretches(in, events);
  }
  in.finish();
  return events;
}

EventFile::EventFile(const std::filesystem::path& directory, const Rank& rank, const std::shared_ptr<DamageLog>& damage)
    : damage_(damage), rank_(rank.rank) {
  if (!rank.events) return;
  const std::string cost = "the events of rank " + std::to_string(rank.rank) + " are missing";
  if (const FramePlace& place = rank.event_frames; place.file) {
    damage->survives(
        cost,
        [&] {
          const InputFile file(place.file);
          source_ = place.file;
          bytes_ = place.size;
          find_frames(file, place.offset, place.offset + place.size, place.offset + place.size);
        },
        DamageTo::Events);
    return;
  }
  const std::string name = format::events_name_begin + std::to_string(rank.rank) + std::string(format::events_name_end);
  // A process that was killed may have written its first events after its last snapshot.
  if (rank.events->bytes == 0 && !has_file(directory, name)) return;
  damage->survives(
      cost,
      [&] {
        const InputFile file(directory / name, damage);
        source_ = file.source();
        // A process may have been killed after it appended events and before it wrote the record that tells their
        // level. Without the level they cannot be part of a sample.
        const bool is_sample = rank.events->mode == format::EventMode::Sampled;
        bytes_ = is_sample ? std::min(file.size(), rank.events->bytes) : file.size();
        find_frames(file, 0, bytes_, rank.events->bytes);
        if (file.size() < rank.events->bytes)
          damage->add(file.place(bytes_, "the file ends early"),
                      "the last events of rank " + std::to_string(rank.rank) + " are missing", DamageTo::Events);
      },
      DamageTo::Events);
}

/// `written`: end of the frames that were complete when the rank's record was written.
void EventFile::find_frames(const InputFile& file, std::uint64_t begin, std::uint64_t end, std::uint64_t written) {
  for (std::uint64_t at = begin; at < end;) {
    std::optional<Head> head;
    try {
      head = read_head(file, at, end);
    } catch (const ReadError&) {
      const std::uint64_t next = next_frame(file, at + 1, end);
      // A process that was killed while writing leaves a partial frame, which is not damage.
      if (at >= written && next == end) return;
      damage_->add(file.place(at, "a damaged frame of events"),
                   std::to_string(next - at) + " bytes of events of rank " + std::to_string(rank_) + " are missing",
                   DamageTo::Events);
      at = next;
      continue;
    }
    frames_.push_back(head->frame);
    at += head->frame.size;
  }
}

std::string EventFile::cost_of(const EventFrame& frame) const {
  return std::to_string(frame.records) + " events of rank " + std::to_string(rank_) + " are missing";
}

void EventFile::check() const {
  for (const EventFrame& frame : frames_)
    damage_->survives(
        cost_of(frame),
        [&] {
          const InputFile file(source_);
          (void)read_whole(file, frame.offset, frame.size);
        },
        DamageTo::Events);
}

void EventFile::read(const EventFrame& frame, std::vector<std::byte>& records) const {
  bool is_whole = false;
  damage_->survives(
      cost_of(frame),
      [&] {
        const InputFile file(source_);
        const auto whole = read_whole(file, frame.offset, frame.size);
        const Head head = parse_head(file, frame.offset, frame.offset + frame.size, whole);
        const auto begin = whole.begin() + format::event_head_size;
        unpack(file, frame.offset, frame_text, head.encoding, {begin, begin + static_cast<std::ptrdiff_t>(head.stored)},
               head.raw, records);
        is_whole = true;
      },
      DamageTo::Events);
  if (!is_whole) records.clear();
}

void EventFile::note_damage(const EventFrame& frame) const {
  damage_->add(source_->name + ": at byte " + std::to_string(frame.offset) + ": a malformed record of an event",
               "events of rank " + std::to_string(rank_) + " are missing", DamageTo::Events);
}

}  // namespace refrain::experiment
