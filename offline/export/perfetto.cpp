/// Perfetto's protobuf format (google/perfetto, docs/getting-started/converting.md): packets with track descriptors and
/// track events. Each rank has a track, and below it one for each thread and one for each loop of a thread. Messages
/// are flows between instants within the slices of their calls. Only fields that have existed for years are written.

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>
#include <vector>

#include "offline/experiment/clean_text.hpp"
#include "offline/export/protobuf.hpp"
#include "offline/export/timeline.hpp"

namespace refrain::exports {
namespace {

/// Fields of trace.proto, trace_packet.proto, track_descriptor.proto, track_event.proto.
namespace perfetto_field {
enum Trace : std::uint32_t { Packet = 1 };
enum TracePacket : std::uint32_t { Timestamp = 8, SequenceId = 10, TrackEvent = 11, TrackDescriptor = 60 };
enum OfDescriptor : std::uint32_t { Uuid = 1, TrackName = 2, ParentUuid = 5 };
enum OfEvent : std::uint32_t {
  DebugAnnotation = 4,
  EventType = 9,
  TrackUuid = 11,
  Categories = 22,
  EventName = 23,
  FlowIds = 47,
  TerminatingFlowIds = 48
};
enum OfAnnotation : std::uint32_t { IntValue = 4, AnnotationName = 10 };
}  // namespace perfetto_field
enum PerfettoType : std::uint8_t { SliceBegin = 1, SliceEnd = 2, Instant = 3 };

/// One end of a flow.
struct PerfettoFlow {
  std::uint32_t field = 0;
  std::uint64_t number = 0;
};

class PerfettoTimeline final : public Timeline {
 public:
  PerfettoTimeline(const trace::Trace& trace, OutputFile& out) : trace_(trace), out_(out) {}

  void write_tracks() {
    for (std::uint32_t i = 0; i < trace_.locations().size(); ++i) {
      const trace::LocationOfTrace& location = trace_.locations()[i];
      const bool is_new_rank = i == 0 || location.rank != trace_.locations()[i - 1].rank;
      rank_tracks_.push_back(is_new_rank ? ++tracks_ : rank_tracks_.back());
      if (is_new_rank) write_track(tracks_, fmt::format("rank {}", location.rank), 0);
      thread_tracks_.push_back(++tracks_);
      write_track(tracks_, location.name, rank_tracks_[i]);
    }
  }

  void begin_slice(TimelinePoint at, const trace::RegionOfTrace& region) override {
    follow(at.location);
    const auto place = static_cast<std::size_t>(&region - trace_.regions().data());
    if (place >= begins_.size()) begins_.resize(place + 1);
    ProtoMessage& begin = begins_[place];
    if (begin.bytes().empty())
      begin = contents(thread_tracks_[at.location], SliceBegin, names(region.name, category_of(region)));
    write_packet(at, begin);
  }
  void end_slice(TimelinePoint at, const trace::RegionOfTrace&, std::int64_t off_cpu_ns) override {
    follow(at.location);
    if (off_cpu_ns > 0) write_end_with(at, "off_cpu_ns", off_cpu_ns);
    else write_packet(at, end_);
  }
  void iteration(TimelinePoint begin, TimelinePoint end, const std::string& loop, std::int64_t number) override {
    // An iteration of an inner loop may begin together with one of an outer loop: on one track their order would be
    // unknown.
    const auto [track, is_new] = loop_tracks_.try_emplace({begin.location, loop}, tracks_ + 1);
    if (is_new) write_track(++tracks_, "iterations of " + loop, rank_tracks_[begin.location]);
    write_packet(begin, contents(track->second, SliceBegin, names(fmt::format("{} {}", loop, number), "iteration")));
    write_packet(end, contents(track->second, SliceEnd, {}));
  }
  void gap(TimelinePoint at) override {
    write_packet(at, contents(thread_tracks_[at.location], Instant, names("events are missing", "gap")));
  }
  void message(const TimelineMessage& of) override {
    write_flow(of.sent, "send", sends_, {perfetto_field::FlowIds, of.number});
    write_flow(of.received, "receive", receives_, {perfetto_field::TerminatingFlowIds, of.number});
  }

 private:
  void write_track(std::uint64_t uuid, std::string_view name, std::uint64_t parent) {
    ProtoMessage descriptor;
    descriptor.integer(perfetto_field::Uuid, static_cast<std::int64_t>(uuid));
    descriptor.text(perfetto_field::TrackName, experiment::clean_text(name));
    if (parent != 0) descriptor.integer(perfetto_field::ParentUuid, static_cast<std::int64_t>(parent));
    packet_.clear();
    packet_.integer(perfetto_field::SequenceId, sequence);
    packet_.message(perfetto_field::TrackDescriptor, descriptor);
    write_packet();
  }

  /// The fields for the name and category of an event.
  static ProtoMessage names(std::string_view name, const char* category) {
    ProtoMessage fields;
    std::string memory;
    fields.text(perfetto_field::Categories, category);
    fields.text(perfetto_field::EventName, experiment::as_utf8(name, memory));
    return fields;
  }
  /// The packet of an event after its timestamp. `further`: how many bytes of the event follow.
  static ProtoMessage contents(std::uint64_t track, PerfettoType type, const ProtoMessage& names,
                               std::size_t further = 0) {
    ProtoMessage event, packet;
    event.integer(perfetto_field::EventType, type);
    event.integer(perfetto_field::TrackUuid, static_cast<std::int64_t>(track));
    event.fields(names);
    packet.integer(perfetto_field::SequenceId, sequence);
    packet.head(perfetto_field::TrackEvent, event.bytes().size() + further);
    packet.fields(event);
    return packet;
  }

  /// Switches to a location: slices come location by location.
  void follow(std::uint32_t location) {
    if (location == location_) return;
    location_ = location;
    begins_.clear();
    end_ = contents(thread_tracks_[location], SliceEnd, {});
  }

  /// The end of a slice with an argument.
  void write_end_with(TimelinePoint at, const char* name, std::int64_t value) {
    ProtoMessage annotation, argument;
    annotation.text(perfetto_field::AnnotationName, name);
    annotation.integer(perfetto_field::IntValue, value);
    argument.message(perfetto_field::DebugAnnotation, annotation);
    write_packet(at, contents(thread_tracks_[at.location], SliceEnd, {}, argument.bytes().size()), argument);
  }

  /// `ends`: contents of such packets by location; empty until they are first needed.
  void write_flow(TimelinePoint at, const char* name, std::vector<ProtoMessage>& ends, PerfettoFlow flow) {
    flow_.clear();
    flow_.fixed64(flow.field, flow.number);
    if (ends.empty()) ends.resize(thread_tracks_.size());
    ProtoMessage& end = ends[at.location];
    if (end.bytes().empty())
      end = contents(thread_tracks_[at.location], Instant, names(name, "message"), flow_.bytes().size());
    write_packet(at, end, flow_);
  }

  void write_packet(TimelinePoint at, const ProtoMessage& contents, const ProtoMessage& further = {}) {
    packet_.clear();
    // Perfetto has no times before 0. Ranks that began before the first one have such times.
    packet_.integer(perfetto_field::Timestamp, std::max<std::int64_t>(at.time_ns, 0));
    packet_.fields(contents);
    packet_.fields(further);
    write_packet();
  }

  void write_packet() {
    top_.clear();
    top_.message(perfetto_field::Packet, packet_);
    out_.write(top_.bytes());
  }

  static constexpr std::int64_t sequence = 1;
  const trace::Trace& trace_;
  OutputFile& out_;
  std::uint64_t tracks_ = 0;                                ///< number of tracks; they are numbered from 1
  std::vector<std::uint64_t> rank_tracks_, thread_tracks_;  ///< by location
  std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> loop_tracks_;
  std::uint32_t location_ = ~std::uint32_t{0};  ///< location of the slices being written
  std::vector<ProtoMessage> begins_;            ///< packet contents of its slices, by index in Trace::regions()
  ProtoMessage end_;
  std::vector<ProtoMessage> sends_, receives_;  ///< packet contents of flows, by location
  ProtoMessage packet_, top_, flow_;            ///< reused for their memory
};

}  // namespace

void write_perfetto(const trace::Trace& trace, const EventChoice& choice, OutputFile& out) {
  PerfettoTimeline timeline(trace, out);
  timeline.write_tracks();
  read_timeline(trace, choice, timeline);
}

}  // namespace refrain::exports
