#include "offline/export/timeline.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <utility>
#include <vector>

#include "offline/trace/pairing.hpp"

namespace refrain::exports {
namespace {

using TimelineEvent = trace::Type;

/// A chosen interval of a location's time, both ends included.
struct Stretch {
  std::int64_t from_ns, until_ns;
  bool has(std::int64_t time_ns) const { return from_ns <= time_ns && time_ns <= until_ns; }
};

/// The slices of one location in one stretch.
class LocationTimeline {
 public:
  LocationTimeline(const trace::Trace& trace, std::uint32_t location, const Stretch& stretch, Timeline& timeline)
      : trace_(trace), location_(location), from_ns_(stretch.from_ns), timeline_(timeline) {}

  void add(const trace::Event& event) {
    time_ = std::max(time_, event.time_ns);
    switch (event.type) {
      case TimelineEvent::Enter:
      case TimelineEvent::MarkBegin: return begin(event.path);
      case TimelineEvent::Leave: return end(event.path, trace_.archive() ? 0 : event.record.value);
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

  /// The begin of a mark may be missing, and inner marks may not have ended.
  void end(std::uint32_t path, std::int64_t off_cpu_ns = 0) {
    const std::uint32_t region = trace_.region_index(path);
    if (std::ranges::find(open_, region) == open_.end()) return;
    for (bool found = false; !found;) {
      found = open_.back() == region;
      end_last(found ? off_cpu_ns : 0);
    }
  }

  void end_last(std::int64_t off_cpu_ns = 0) {
    timeline_.end_slice({location_, time_}, trace_.regions()[open_.back()], off_cpu_ns);
    open_.pop_back();
  }

  void iteration(const trace::Event& event) {
    const std::string loop = trace_.loop_of(event);
    // An iteration that ends as the stretch begins is the one before.
    if (loop.empty() || time_ <= from_ns_) return;
    const std::int64_t begin = std::max(trace_.time_of(location_, event.record.begin), from_ns_);
    timeline_.iteration({location_, std::min(begin, time_)}, {location_, time_}, loop, event.record.value);
  }

  const trace::Trace& trace_;
  std::uint32_t location_;
  std::int64_t from_ns_;
  Timeline& timeline_;
  std::int64_t time_ = std::numeric_limits<std::int64_t>::min();
  std::vector<std::uint32_t> open_;  ///< open regions, innermost last
};

template <class Use>
void for_each_event(const trace::Trace& trace, std::span<const std::uint32_t> locations, const Stretch& stretch,
                    const Use& use) {
  trace::Trace::Reader reader = trace.read(locations, stretch.from_ns);
  for (const trace::Event* event = reader.next(); event && event->time_ns <= stretch.until_ns; event = reader.next())
    use(*event);
}

/// Unites overlapping stretches, in the order of time, so that each event is in one: iterations of nested loops with
/// the same number may lie within each other.
std::vector<Stretch> united(std::vector<Stretch> stretches) {
  std::ranges::sort(stretches, {}, &Stretch::from_ns);
  std::vector<Stretch> apart;
  for (const Stretch& of : stretches) {
    if (apart.empty() || of.from_ns > apart.back().until_ns) apart.push_back(of);
    else apart.back().until_ns = std::max(apart.back().until_ns, of.until_ns);
  }
  return apart;
}

std::vector<Stretch> stretches_of(const trace::Trace& trace, std::uint32_t location, const EventChoice& choice) {
  const Stretch whole{choice.from_ns, choice.until_ns};
  if (!choice.iteration) return {whole};
  std::vector<Stretch> stretches;
  for_each_event(trace, {&location, 1}, whole, [&](const trace::Event& event) {
    if (event.type == TimelineEvent::SpanEnd && event.record.value == *choice.iteration &&
        !trace.loop_of(event).empty())
      stretches.push_back({std::max(trace.time_of(location, event.record.begin), whole.from_ns), event.time_ns});
  });
  return united(std::move(stretches));
}

}  // namespace

void read_timeline(const trace::Trace& trace, const EventChoice& choice, Timeline& timeline) {
  std::vector<std::vector<Stretch>> chosen;  // by location
  std::size_t stretches = 0;
  for (std::uint32_t location = 0; location < trace.locations().size(); ++location)
    stretches += chosen.emplace_back(stretches_of(trace, location, choice)).size();
  if (choice.iteration && stretches == 0)
    throw ExportError(fmt::format("no events of iteration {} were kept", *choice.iteration));
  for (std::uint32_t location = 0; location < trace.locations().size(); ++location)
    for (const Stretch& stretch : chosen[location]) {
      LocationTimeline of(trace, location, stretch, timeline);
      for_each_event(trace, {&location, 1}, stretch, [&](const trace::Event& event) { of.add(event); });
      of.finish();
    }
  const auto is_chosen = [&](const trace::MessageEvent& event) {
    return std::ranges::any_of(chosen[event.location], [&](const Stretch& of) { return of.has(event.time_ns); });
  };
  std::uint64_t messages = 0;
  trace::Pairing pairing = trace::pairing_of(trace, [&](const trace::MessagePair& pair) {
    if (!is_chosen(pair.send) || !is_chosen(pair.receive)) return;
    timeline.message({++messages,
                      {pair.send.location, pair.send.time_ns},
                      {pair.receive.location, pair.receive.time_ns},
                      pair.send.bytes,
                      pair.send.tag});
  });
  for_each_event(trace, {}, {choice.from_ns, choice.until_ns}, [&](const trace::Event& event) { pairing.add(event); });
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
