/// Perfetto's protobuf format (google/perfetto, docs/getting-started/converting.md): packets with descriptors of tracks
/// and track events. A track for each rank, below it one for each thread and one for each of its loops. Messages are
/// flows between instants within the slices of their calls. Only fields are written that have been there for years.

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
  EventType = 9,
  TrackUuid = 11,
  Categories = 22,
  EventName = 23,
  FlowIds = 47,
  TerminatingFlowIds = 48
};
}  // namespace perfetto_field
enum PerfettoType : std::uint8_t { SliceBegin = 1, SliceEnd = 2, Instant = 3 };

/// An end of an arrow.
struct PerfettoFlow {
  std::uint32_t field = 0;  ///< 0: none
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
    const auto place = static_cast<std::size_t>(&region - trace_.regions().data());
    write_event(at, thread_tracks_[at.location], SliceBegin, names_of(place));
  }
  void end_slice(TimelinePoint at, const trace::RegionOfTrace&) override {
    write_event(at, thread_tracks_[at.location], SliceEnd, nameless_);
  }
  void iteration(TimelinePoint begin, TimelinePoint end, const std::string& loop, std::int64_t number) override {
    // Iterations of an inner loop may begin with those of an outer one: the order of such slices would not be known.
    const auto [track, is_new] = loop_tracks_.try_emplace({begin.location, loop}, tracks_ + 1);
    if (is_new) write_track(++tracks_, "iterations of " + loop, rank_tracks_[begin.location]);
    write_event(begin, track->second, SliceBegin, names(fmt::format("{} {}", loop, number), "iteration"));
    write_event(end, track->second, SliceEnd, nameless_);
  }
  void gap(TimelinePoint at) override { write_event(at, thread_tracks_[at.location], Instant, gap_); }
  void message(const TimelineMessage& of) override {
    write_event(of.sent, thread_tracks_[of.sent.location], Instant, send_, {perfetto_field::FlowIds, of.number});
    write_event(of.received, thread_tracks_[of.received.location], Instant, receive_,
                {perfetto_field::TerminatingFlowIds, of.number});
  }

 private:
  void write_track(std::uint64_t uuid, std::string_view name, std::uint64_t parent) {
    event_.clear();
    event_.integer(perfetto_field::Uuid, static_cast<std::int64_t>(uuid));
    event_.text(perfetto_field::TrackName, experiment::clean_text(name));
    if (parent != 0) event_.integer(perfetto_field::ParentUuid, static_cast<std::int64_t>(parent));
    packet_.clear();
    packet_.integer(perfetto_field::SequenceId, sequence);
    packet_.message(perfetto_field::TrackDescriptor, event_);
    write_packet();
  }

  /// The fields that tell what an event is called.
  static ProtoMessage names(std::string_view name, const char* category) {
    ProtoMessage fields;
    std::string memory;
    fields.text(perfetto_field::Categories, category);
    fields.text(perfetto_field::EventName, experiment::as_utf8(name, memory));
    return fields;
  }
  /// Of the region, by its place. Regions of archives may become more while they are read.
  const ProtoMessage& names_of(std::size_t region) {
    for (std::size_t i = region_names_.size(); i <= region; ++i) {
      const trace::RegionOfTrace& of = trace_.regions()[i];
      region_names_.push_back(names(of.name, category_of(of)));
    }
    return region_names_[region];
  }

  void write_event(TimelinePoint at, std::uint64_t track, PerfettoType type, const ProtoMessage& names,
                   PerfettoFlow flow = {}) {
    event_.clear();
    event_.integer(perfetto_field::EventType, type);
    event_.integer(perfetto_field::TrackUuid, static_cast<std::int64_t>(track));
    event_.fields(names);
    if (flow.field != 0) event_.fixed64(flow.field, flow.number);
    packet_.clear();
    // There are no times before 0: those of ranks that have begun before the first one.
    packet_.integer(perfetto_field::Timestamp, std::max<std::int64_t>(at.time_ns, 0));
    packet_.integer(perfetto_field::SequenceId, sequence);
    packet_.message(perfetto_field::TrackEvent, event_);
    write_packet();
  }

  void write_packet() {
    top_.clear();
    top_.head(perfetto_field::Packet, packet_.bytes().size());
    out_.write(top_.bytes());
    out_.write(packet_.bytes());
  }

  static constexpr std::int64_t sequence = 1;
  const trace::Trace& trace_;
  OutputFile& out_;
  std::uint64_t tracks_ = 0;                                ///< so many there are; they are numbered from 1
  std::vector<std::uint64_t> rank_tracks_, thread_tracks_;  ///< by location
  std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> loop_tracks_;
  const ProtoMessage nameless_, gap_ = names("events are missing", "gap"), send_ = names("send", "message"),
                                receive_ = names("receive", "message");
  std::vector<ProtoMessage> region_names_;  ///< by place in Trace::regions()
  ProtoMessage event_, packet_, top_;       ///< kept for their memory
};

}  // namespace

void write_perfetto(const trace::Trace& trace, const EventChoice& choice, OutputFile& out) {
  PerfettoTimeline timeline(trace, out);
  timeline.write_tracks();
  read_timeline(trace, choice, timeline);
}

}  // namespace refrain::exports
