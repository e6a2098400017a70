/// The trace event format of Chrome, in JSON: slices (B, E; X for iterations), flows (s, f) and names of processes and
/// threads (M). Processes are ranks. Times are microseconds. Firefox requires a name for every event, even for ends.

#include <fmt/format.h>

#include "offline/export/timeline.hpp"
#include "offline/report/json_writer.hpp"

namespace refrain::exports {
namespace {

/// Offset from the track of a thread to that of its iterations.
constexpr std::int32_t iteration_tracks = 1'000'000;

class ChromeTimeline final : public Timeline {
 public:
  ChromeTimeline(const trace::Trace& trace, report::JsonWriter& json) : trace_(trace), json_(json) {}

  void write_names() {
    std::int32_t rank = -1;
    for (const trace::LocationOfTrace& location : trace_.locations()) {
      if (location.rank != rank) name("process_name", location, location.thread, fmt::format("rank {}", location.rank));
      rank = location.rank;
      name("thread_name", location, location.thread, location.name);
      name("thread_name", location, location.thread + iteration_tracks, "iterations of " + location.name);
    }
  }

  void begin_slice(TimelinePoint at, const trace::RegionOfTrace& region) override {
    json_.object([&] { common("B", region.name, category_of(region), at, 0); });
  }
  void end_slice(TimelinePoint at, const trace::RegionOfTrace& region, std::int64_t off_cpu_ns) override {
    json_.object([&] {
      common("E", region.name, category_of(region), at, 0);
      if (off_cpu_ns > 0) json_.member_object("args", [&] { json_.member("off_cpu_us", microseconds(off_cpu_ns)); });
    });
  }
  void iteration(TimelinePoint begin, TimelinePoint end, const std::string& loop, std::int64_t number) override {
    json_.object([&] {
      common("X", fmt::format("{} {}", loop, number), "iteration", begin, iteration_tracks);
      json_.member("dur", microseconds(end.time_ns - begin.time_ns));
      json_.member_object("args", [&] { json_.member("iteration", number); });
    });
  }
  void gap(TimelinePoint at) override {
    json_.object([&] {
      common("i", "events are missing", "gap", at, 0);
      json_.member("s", "t");
    });
  }
  void message(const TimelineMessage& of) override {
    json_.object([&] {
      common("s", "message", "message", of.sent, 0);
      json_.member("id", of.number);
      json_.member_object("args", [&] {
        json_.member("bytes", of.bytes);
        json_.member("tag", of.tag);
      });
    });
    json_.object([&] {
      common("f", "message", "message", of.received, 0);
      json_.member("id", of.number);
      json_.member("bp", "e");
    });
  }

 private:
  /// Whole nanoseconds keep their order, so an end is never before its begin.
  static double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

  void common(const char* phase, std::string_view name, const char* category, TimelinePoint at, std::int32_t track) {
    const trace::LocationOfTrace& location = trace_.locations()[at.location];
    json_.member("ph", phase);
    json_.member("name", name);
    json_.member("cat", category);
    json_.member("pid", location.rank);
    json_.member("tid", location.thread + track);
    json_.member("ts", microseconds(at.time_ns));
  }
  void name(const char* what, const trace::LocationOfTrace& location, std::int32_t track, const std::string& text) {
    json_.object([&] {
      json_.member("ph", "M");
      json_.member("name", what);
      json_.member("pid", location.rank);
      json_.member("tid", track);
      json_.member("ts", 0);
      json_.member_object("args", [&] { json_.member("name", text); });
    });
  }

  const trace::Trace& trace_;
  report::JsonWriter& json_;
};

}  // namespace

void write_chrome(const trace::Trace& trace, const EventChoice& choice, OutputFile& out) {
  report::JsonWriter json([&out](std::string_view text) { out.write(text); }, 2);
  json.object([&] {
    json.member("displayTimeUnit", "ns");
    json.member_object("otherData", [&] { json.member("schema", 1); });
    json.member_array("traceEvents", [&] {
      ChromeTimeline timeline(trace, json);
      timeline.write_names();
      read_timeline(trace, choice, timeline);
    });
  });
  json.end_document();
}

}  // namespace refrain::exports
