#include "offline/export/timeline.hpp"

#include <algorithm>
#include <vector>

#include "offline/trace/pairing.hpp"

namespace refrain::exports {
namespace {

using TimelineEvent = trace::Type;

/// The slices of one location.
class LocationTimeline {
 public:
  LocationTimeline(const trace::Trace& trace, std::uint32_t location, const EventChoice& choice, Timeline& timeline)
      : trace_(trace), location_(location), choice_(choice), timeline_(timeline) {}

  void add(const trace::Event& event) {
    time_ = std::max(time_, event.time_ns);
    switch (event.type) {
      case TimelineEvent::Enter:
      case TimelineEvent::MarkBegin: return begin(event.path);
      case TimelineEvent::Leave:
      case TimelineEvent::MarkEnd: return end(event.path);
      case TimelineEvent::SpanEnd: return iteration(event);
      case TimelineEvent::Gap: return timeline_.gap({location_, time_});
      default: return;
    }
  }

  void finish() {
    while (!open_.empty()) end_last();
  }

 private:
  void begin(std::uint32_t path) {
    open_.push_back(trace_.region_index(path));
    timeline_.begin_slice({location_, time_}, trace_.regions()[open_.back()]);
  }

  /// Beginnings may be missing, and inner marks may not have ended.
  void end(std::uint32_t path) {
    const std::uint32_t region = trace_.region_index(path);
    if (std::ranges::find(open_, region) == open_.end()) return;
    for (bool found = false; !found;) {
      found = open_.back() == region;
      end_last();
    }
  }

  void end_last() {
    timeline_.end_slice({location_, time_}, trace_.regions()[open_.back()]);
    open_.pop_back();
  }

  void iteration(const trace::Event& event) {
    const std::string loop = trace_.loop_of(event);
    if (loop.empty()) return;
    const std::int64_t begin = std::max(trace_.time_of(location_, event.record.begin), choice_.from_ns);
    timeline_.iteration({location_, std::min(begin, time_)}, {location_, time_}, loop, event.record.value);
  }

  const trace::Trace& trace_;
  std::uint32_t location_;
  const EventChoice& choice_;
  Timeline& timeline_;
  std::int64_t time_ = std::numeric_limits<std::int64_t>::min();
  std::vector<std::uint32_t> open_;  ///< regions, the innermost last
};

}  // namespace

void read_timeline(const trace::Trace& trace, const EventChoice& choice, Timeline& timeline) {
  for (std::uint32_t location = 0; location < trace.locations().size(); ++location) {
    LocationTimeline of(trace, location, choice, timeline);
    trace::Trace::Reader reader = trace.read({&location, 1}, choice.from_ns);
    for (const trace::Event* event = reader.next(); event && event->time_ns <= choice.until_ns; event = reader.next())
      of.add(*event);
    of.finish();
  }
  std::uint64_t messages = 0;
  trace::Pairing pairing = trace::pairing_of(trace, [&](const trace::MessagePair& pair) {
    timeline.message(++messages, {pair.send.location, pair.send.time_ns},
                     {pair.receive.location, pair.receive.time_ns});
  });
  trace::Trace::Reader reader = trace.read({}, choice.from_ns);
  for (const trace::Event* event = reader.next(); event && event->time_ns <= choice.until_ns; event = reader.next())
    pairing.add(*event);
  pairing.finish();
}

const char* category_of(const trace::RegionOfTrace& region) {
  switch (region.paradigm) {
    case trace::Paradigm::Mpi: return region.is_collective() ? "MPI collective" : "MPI";
    case trace::Paradigm::OpenMp: return "OpenMP";
    case trace::Paradigm::User: return "mark";
    default: return "other";
  }
}

}  // namespace refrain::exports
