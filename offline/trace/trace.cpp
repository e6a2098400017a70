#include "offline/trace/trace.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace refrain::trace {

using experiment::RankHandle;

std::shared_ptr<const Trace> Trace::open(std::shared_ptr<const experiment::Experiment> experiment,
                                         const std::function<bool(std::int32_t rank)>& chosen) {
  auto trace = std::make_shared<Trace>();
  trace->experiment_ = experiment;
  const auto damage = experiment->damage_log();
  // Ranks of one host share its clock. Between hosts the clocks of their calendars must do.
  struct Host {
    std::int64_t to_epoch_ns;
  };
  std::map<std::string, Host> hosts;
  std::vector<std::pair<const experiment::EventsOfRank*, std::int64_t>> clocks;  // and what makes them the epoch's
  std::vector<RankHandle> held;
  for (std::size_t place = 0; place < experiment->ranks().size(); ++place) {
    if (chosen && !chosen(experiment->ranks()[place])) continue;
    const RankHandle rank = experiment->rank(place, experiment::Depth::Run);
    if (!rank || !rank->events) continue;
    const experiment::EventsOfRank& events = *rank->events;
    const auto [host, is_new] = hosts.try_emplace(rank->host, Host{rank->begin_epoch_ns - events.first.monotonic_ns});
    clocks.emplace_back(&events, host->second.to_epoch_ns);
    held.push_back(rank);
    const auto number = static_cast<std::uint32_t>(trace->ranks_.size());
    auto file = std::make_shared<const experiment::EventFile>(experiment->directory(), *rank, damage);
    trace->ranks_.push_back({rank->rank, rank->host, events.mode, file->bytes(), events.first_region, events.regions});
    trace->files_.push_back(std::move(file));
    trace->communicators_.add(*rank);
    for (const experiment::EventsOfLocation& of : events.locations) {
      LocationOfTrace& location = trace->locations_.emplace_back();
      location = {rank->rank, of.thread, {}, rank->host, of.records, of.lost, of.iterations};
      for (const experiment::Location& known : rank->locations)
        if (known.thread == of.thread) location.name = known.name;
      trace->paths_.push_back(of.paths);
      trace->rank_of_location_.push_back(number);
    }
  }
  if (trace->ranks_.empty()) return nullptr;
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  for (const auto& [events, to_epoch] : clocks) begin = std::min(begin, events->first.monotonic_ns + to_epoch);
  trace->begin_epoch_ns_ = begin;
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    const auto& [events, to_epoch] = clocks[i];
    trace->clocks_.emplace_back(*events, held[i]->ticks_per_second, begin - to_epoch);
    for (const experiment::EventFrame& frame : trace->files_[i]->frames())
      trace->end_ns_ = std::max(trace->end_ns_, trace->clocks_[i].time_of(frame.end));
  }
  return trace;
}

std::string Trace::region_of(std::uint32_t path) const {
  const auto& definitions = experiment_->definitions();
  if (path >= definitions.paths.size()) return "(unknown)";
  const experiment::CallPath& of = definitions.paths[path];
  return format::is_named(of.kind) && of.offset < definitions.regions.size() ? definitions.regions[of.offset]
                                                                             : "(user code)";
}

std::string Trace::loop_of(const Event& span) const {
  if (span.record.region == 0) return {};
  const RankOfTrace& rank = ranks_[rank_of_location_[span.location]];
  const std::size_t place = span.record.region - rank.first_region;
  return place < rank.regions.size() ? rank.regions[place] : "(unknown)";
}

Trace::Reader Trace::read(std::span<const std::uint32_t> locations) const {
  Reader reader;
  const auto add = [&](std::uint32_t location) {
    const std::uint32_t rank = rank_of_location_[location];
    reader.streams_.emplace_back(files_[rank], locations_[location].thread, location, paths_[location], clocks_[rank]);
  };
  if (locations.empty())
    for (std::uint32_t i = 0; i < locations_.size(); ++i) add(i);
  for (const std::uint32_t location : locations) add(location);
  reader.heads_.resize(reader.streams_.size());
  for (std::uint32_t i = 0; i < reader.streams_.size(); ++i) reader.put(i);
  return reader;
}

void Trace::Reader::put(std::uint32_t stream) {
  heads_[stream] = streams_[stream].next();
  if (!heads_[stream]) return;
  queue_.push_back({heads_[stream]->time_ns, stream});
  std::ranges::push_heap(queue_, std::greater<>{});
}

const Event* Trace::Reader::next() {
  if (last_ >= 0) put(static_cast<std::uint32_t>(last_));
  last_ = -1;
  if (queue_.empty()) return nullptr;
  std::ranges::pop_heap(queue_, std::greater<>{});
  last_ = queue_.back().stream;
  queue_.pop_back();
  return heads_[static_cast<std::size_t>(last_)];
}

}  // namespace refrain::trace
