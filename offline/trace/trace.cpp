#include "offline/trace/trace.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>

#include "format/hashing.hpp"
#include "format/kept_iterations.hpp"
#include "offline/experiment/rank_pass.hpp"
#include "offline/trace/clock_bounds.hpp"
#include "offline/trace/functions.hpp"
#include "offline/trace/otf2_stream.hpp"

namespace refrain::trace {

using experiment::RankHandle;

void Trace::add(const experiment::Rank& rank, const std::shared_ptr<experiment::DamageLog>& damage) {
  const experiment::EventsOfRank& events = *rank.events;
  auto file = std::make_shared<const experiment::EventFile>(experiment_->directory(), rank, damage);
  std::map<std::int32_t, std::uint64_t> records;  // by thread
  for (const experiment::EventFrame& frame : file->frames()) records[frame.thread] += frame.records;
  const auto add_location = [&](const experiment::EventsOfLocation& of) {
    LocationOfTrace& location = locations_.emplace_back();
    location = {rank.rank, of.thread, {}, rank.host, records[of.thread], of.lost, of.iterations};
    std::int64_t begin = events.first.ticks;
    for (const experiment::Location& known : rank.locations)
      if (known.thread == of.thread) {
        location.name = known.name;
        begin = std::max(begin, known.begin);
      }
    begins_.push_back(begin);
    paths_.push_back(of.paths);
    sampled_.push_back(of.sampled);
    rank_of_location_.push_back(static_cast<std::uint32_t>(ranks_.size()));
    request_seeds_.push_back(format::mixed(static_cast<std::uint32_t>(rank.rank)));
    records.erase(of.thread);
  };
  for (const experiment::EventsOfLocation& of : events.locations) add_location(of);
  // A killed process may have threads that had not begun when its last snapshot was written.
  while (!records.empty()) {
    experiment::EventsOfLocation of{};
    of.thread = records.begin()->first;
    add_location(of);
  }
  ranks_.push_back({rank.rank, rank.host, events.mode, file->bytes(), events.first_region, events.regions, {}});
  files_.push_back(std::move(file));
  add_metrics(rank);
  communicators_.add(rank);
  windows_.add(rank, communicators_);
}

/// Machines may have different metrics, so each rank numbers its own.
void Trace::add_metrics(const experiment::Rank& rank) {
  std::vector<std::uint32_t>& of_rank = metrics_of_rank_.emplace_back();
  for (const std::size_t place : rank.asked_for) {
    const experiment::ExtraMetric& metric = rank.extra_metrics[place];
    const auto is_same = [&](const MetricOfTrace& of) { return of.name == metric.name && of.unit == metric.unit; };
    const auto at = std::ranges::find_if(metrics_, is_same);
    of_rank.push_back(static_cast<std::uint32_t>(at - metrics_.begin()));
    if (at == metrics_.end()) metrics_.push_back({metric.name, metric.unit, MetricOfTrace::Signed});
  }
}

struct Trace::Opened {
  std::shared_ptr<Trace> trace;
  std::vector<RankHandle> ranks;  ///< the chosen ones; empty: there is nothing to read
};

Trace::Opened Trace::assemble(const std::shared_ptr<const experiment::Experiment>& experiment,
                              const std::function<bool(std::int32_t rank)>& chosen,
                              const std::shared_ptr<experiment::DamageLog>& damage) {
  Opened opened{std::make_shared<Trace>(), {}};
  Trace& trace = *opened.trace;
  trace.experiment_ = experiment;
  // Reads all ranks, so that a time means the same whichever are chosen.
  std::vector<std::size_t> places(experiment->ranks().size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  for_each_rank(*experiment, places, experiment::Depth::Run, [&](const RankHandle& rank) {
    if (!rank || !rank->events) return;
    trace.job_clocks_.add(*rank);
    trace.add_sample(*rank->events);
    if (chosen && !chosen(rank->rank)) return;
    trace.add(*rank, damage);
    opened.ranks.push_back(rank);
  });
  trace.job_clocks_.connect();
  trace.make_regions();
  trace.choose_slowest();
  return opened;
}

/// Call once the clocks are final.
void Trace::set_times(std::span<const RankHandle> ranks) {
  const JobClocks& clocks = job_clocks_;
  begin_epoch_ns_ = clocks.begin();
  clocks_.clear();
  end_ns_ = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const experiment::Rank& rank = *ranks[i];
    const experiment::EventsOfRank& events = *rank.events;
    const auto time_of = [&](const experiment::ClockReading& at) {
      return clocks.even_time_of(rank, at.monotonic_ns) - clocks.begin();
    };
    ranks_[i].clock_offset_ns = clocks.offset_of(rank.rank, events.first.monotonic_ns);
    const RankClock& clock =
        clocks_.emplace_back(events.first.ticks, time_of(events.first), events.last.ticks, time_of(events.last),
                             rank.ticks_per_second, clocks.curve_of(rank.rank));
    for (const experiment::EventFrame& frame : files_[i]->frames())
      end_ns_ = std::max(end_ns_, clock.time_of(frame.end));
  }
}

/// First corrects the clocks of several machines by all messages.
void Trace::place_in_time(std::span<const RankHandle> ranks) {
  if (job_clocks_.machines() > 1) {
    // Readers of the chosen ranks report damage.
    const Opened whole = assemble(experiment_, {}, std::make_shared<experiment::DamageLog>());
    whole.trace->set_times(whole.ranks);
    job_clocks_.correct(correction_of(*whole.trace));
  }
  set_times(ranks);
  find_differing_stretches();
}

std::shared_ptr<const Trace> Trace::open(std::shared_ptr<const experiment::Experiment> experiment,
                                         const std::function<bool(std::int32_t rank)>& chosen,
                                         const std::optional<AsSampled>& as) {
  const auto [trace, ranks] = assemble(experiment, chosen, experiment->damage_log());
  if (ranks.empty()) return nullptr;
  trace->place_in_time(ranks);
  if (as) trace->sample(*as);
  return trace;
}

std::shared_ptr<const Trace> Trace::open_thinned(std::shared_ptr<const experiment::Experiment> experiment,
                                                 std::uint64_t most_records, unsigned least_thinned) {
  const auto [trace, ranks] = assemble(experiment, {}, experiment->damage_log());
  if (ranks.empty()) return nullptr;
  unsigned times = least_thinned;
  while (trace->records() >> times > most_records) ++times;
  if (times > 0 && trace->records() > most_records_read) throw std::invalid_argument("there are too many events");
  trace->place_in_time(ranks);
  if (times > 0) trace->thin(times);
  return trace;
}

std::uint64_t Trace::records() const {
  std::uint64_t records = 0;
  for (const LocationOfTrace& of : locations_) records += of.records;
  return records;
}

/// A sample becomes a smaller one; a trace of everything becomes a sample.
void Trace::thin(unsigned times) {
  thinned_ = times;
  if (!std::ranges::all_of(ranks_, [](const RankOfTrace& of) { return of.mode == format::EventMode::Sampled; }))
    return sample(times);
  bool has_iterations = false;
  for (auto& [loop, level] : levels_) {
    if (loop.empty()) continue;
    level = std::min(level + times, format::highest_level);
    has_iterations = true;
  }
  if (!has_iterations) throw std::invalid_argument("there are no iterations to take a sample of");
}

/// Nearly what ranks would have agreed on: if there are too many slowest iterations, the first ones stay.
template <class As>
void Trace::sample(const As& as) {
  std::vector<SampleOfLocation> samples;
  std::map<std::pair<std::string, std::int64_t>, std::set<std::int32_t>> slow_on;  // by iteration: the ranks
  std::map<std::string, unsigned> sparse;                                          // by loop
  bool has_iterations = false;
  for (std::uint32_t location = 0; location < locations_.size(); ++location) {
    RankOfTrace& rank = ranks_[rank_of_location_[location]];
    if (rank.mode == format::EventMode::Sampled || rank.mode == format::EventMode::List)
      throw std::invalid_argument("only events of an experiment with REFRAIN_TRACE=all can be sampled");
    const SampleOfLocation& sample =
        samples.emplace_back(sample_of(*files_[rank_of_location_[location]], locations_[location].thread, as));
    for (const SampleOfLocation::Level& of : sample.levels) {
      unsigned& level = levels_[rank.name_of(of.region)];
      level = std::max(level, of.level);
      unsigned& of_loop = sparse[rank.name_of(of.region)];
      of_loop = std::max(of_loop, of.sparse);
    }
    for (const SpanOfLocation& of : sample.slowest)
      slow_on[{rank.name_of(of.region), static_cast<std::int64_t>(of.number)}].insert(rank.rank);
    most_slow_ = std::max(most_slow_, sample.slowest.size());
    has_iterations |= std::ranges::any_of(sample.spans, [](const SpanOfLocation& of) { return of.region != 0; });
  }
  for (const auto& [iteration, ranks] : slow_on) slowest_[iteration] = static_cast<std::int32_t>(ranks.size());
  if (!has_iterations) throw std::invalid_argument("there are no iterations to take a sample of");
  for (RankOfTrace& rank : ranks_) rank.mode = format::EventMode::Sampled;
  is_agreed_ = false;
  choose_slowest();
  for (std::uint32_t location = 0; location < locations_.size(); ++location) {
    const RankOfTrace& rank = ranks_[rank_of_location_[location]];
    std::vector<bool>& hidden = hidden_.emplace_back();
    for (const SpanOfLocation& of : samples[location].spans) {
      const std::string loop = rank.name_of(of.region);
      const auto number = static_cast<std::int64_t>(of.number);
      const bool is_first_outside = of.region == 0 && of.number == 0;
      const bool precedes = of.region != 0 && kept_of(loop).precedes(of.number, sparse[loop]);
      hidden.push_back(!is_first_outside && !is_sampled(loop, number) && !precedes &&
                       !slowest_.contains({loop, number}));
    }
  }
}

std::shared_ptr<const Trace> Trace::open_archive(const std::filesystem::path& anchor,
                                                 const std::function<bool(std::int32_t rank)>& chosen) {
  auto trace = std::make_shared<Trace>();
  trace->archive_ = std::make_unique<const Otf2Archive>(anchor, chosen);
  const Otf2Archive& archive = *trace->archive_;
  trace->ranks_ = archive.ranks();
  trace->locations_ = archive.locations();
  trace->rank_of_location_ = archive.rank_of_location();
  for (std::size_t location = 0; location < trace->locations_.size(); ++location)
    trace->request_seeds_.push_back(format::mixed(location));
  trace->communicators_ = archive.communicators();
  trace->begin_epoch_ns_ = archive.begin_epoch_ns();
  trace->end_ns_ = archive.end_ns();
  return trace;
}

namespace {

constexpr std::uint32_t unknown_region = 0, user_code = 1;  // indices into Trace::regions() of an experiment

}  // namespace

/// Makes one region for each name and kind; the program marks those that are no MPI functions.
void Trace::make_regions() {
  const auto& definitions = experiment_->definitions();
  regions_ = {{.name = "(unknown)"}, {.name = "(user code)", .paradigm = Paradigm::Sampling}};
  std::map<std::pair<format::NodeKind, std::uint64_t>, std::uint32_t> known;
  region_of_path_.reserve(definitions.paths.size());
  for (const experiment::CallPath& of : definitions.paths) {
    if (!format::is_named(of.kind) || of.offset >= definitions.regions.size()) {
      region_of_path_.push_back(user_code);
      continue;
    }
    const auto [at, is_new] = known.try_emplace({of.kind, of.offset}, static_cast<std::uint32_t>(regions_.size()));
    region_of_path_.push_back(at->second);
    if (!is_new) continue;
    RegionOfTrace& made = regions_.emplace_back();
    made.name = definitions.regions[of.offset];
    const bool is_mpi = of.kind == format::NodeKind::Region;
    made.paradigm = is_mpi ? Paradigm::Mpi : Paradigm::User;
    made.role = is_mpi ? function_of_mpi(made.name).role : Role::Code;
  }
}

std::uint32_t Trace::region_index(std::uint32_t path) const {
  if (archive_) return archive_->paths()[path].region;
  return path < region_of_path_.size() ? region_of_path_[path] : unknown_region;
}

std::size_t Trace::path_count() const {
  return archive_ ? archive_->paths().size() : experiment_->definitions().paths.size();
}

std::uint32_t Trace::parent_of(std::uint32_t path) const {
  if (archive_) return archive_->paths()[path].parent;
  const auto& paths = experiment_->definitions().paths;
  return path < paths.size() && paths[path].parent < path ? paths[path].parent : no_path;
}

const experiment::DamageLog& Trace::damage() const {
  return archive_ ? *archive_->damage_log() : *experiment_->damage_log();
}

bool Trace::may_miss_events() const {
  for (const auto& file : files_) file->check();
  return damage().count() > 0 || (experiment_ && !experiment_->definitions().complete) ||
         std::ranges::any_of(locations_, [](const LocationOfTrace& of) { return of.lost > 0; });
}

namespace {

template <class List>
const List& list_or_none(const Otf2Archive* archive, const List& (Otf2Archive::*list)() const) {
  static const List none;
  return archive ? (archive->*list)() : none;
}

}  // namespace

const std::vector<WindowOfTrace>& Trace::windows() const { return archive_ ? archive_->windows() : windows_.all(); }
const std::vector<std::string>& Trace::parameters() const { return list_or_none(archive(), &Otf2Archive::parameters); }
const std::vector<std::string>& Trace::texts() const { return list_or_none(archive(), &Otf2Archive::texts); }

double Trace::value_of(const Event& metric) const {
  const std::int64_t value = metric.record.value;
  if (metric.record.node >= metrics().size()) return static_cast<double>(value);
  switch (metrics()[metric.record.node].type) {
    case MetricOfTrace::Real: return std::bit_cast<double>(value);
    case MetricOfTrace::Unsigned: return static_cast<double>(static_cast<std::uint64_t>(value));
    case MetricOfTrace::Signed: break;
  }
  return static_cast<double>(value);
}

std::uint32_t Trace::path_of(std::uint32_t location, std::int32_t thread, std::uint32_t node) const {
  if (archive_) return node;
  const std::uint32_t rank = rank_of_location_[location];
  const auto of_rank = std::ranges::equal_range(rank_of_location_, rank);  // locations are in rank order
  for (auto at = of_rank.begin(); at != of_rank.end(); ++at) {
    const auto place = static_cast<std::size_t>(at - rank_of_location_.begin());
    if (locations_[place].thread == thread) return node < paths_[place].size() ? paths_[place][node] : no_path;
  }
  return no_path;
}

namespace {

/// `regions`: names by id, from `first` on.
std::string name_of_region(std::uint32_t region, std::uint32_t first, const std::vector<std::string>& regions) {
  if (region == 0) return {};
  if (region == events::stretches) return stretches_loop;
  const std::size_t place = std::size_t{region} - first;
  return place < regions.size() ? regions[place] : "(unknown)";
}

}  // namespace

std::string RankOfTrace::name_of(std::uint32_t region) const { return name_of_region(region, first_region, regions); }

std::string Trace::loop_of(const Event& span) const {
  if (archive_) return span.record.region == 0 ? std::string() : archive_->loops()[span.record.region - 1];
  return ranks_[rank_of_location_[span.location]].name_of(span.record.region);
}

void Trace::add_sample(const experiment::EventsOfRank& events) {
  for (const experiment::EventsOfRank::Level& of : events.levels) {
    unsigned& level = levels_[name_of_region(of.region, events.first_region, events.regions)];
    level = std::max(level, of.level);
  }
  for (const experiment::EventsOfLocation& of : events.locations)
    if (of.sampled) level_of_messages_ = std::max(level_of_messages_.value_or(0), of.sampled->level);
  is_agreed_ &= events.levels_agreed;
  const std::pair stretches{events.stretches, events.stretches_hash};
  same_stretches_ &= stretches_.value_or(stretches) == stretches;
  stretches_ = stretches;
  for (const experiment::EventsOfRank::Slow& of : events.slowest) {
    std::int32_t& ranks = slowest_[{name_of_region(of.region, events.first_region, events.regions), of.iteration}];
    if (events.levels_agreed) ranks = std::max(ranks, static_cast<std::int32_t>(of.ranks));
    else ++ranks;
  }
  most_slow_ = std::max(most_slow_, events.slowest.size());
}

/// Ranks that have not agreed have lists of their own: the iterations that most of them have stay, as many as one rank
/// may have.
void Trace::choose_slowest() {
  if (is_agreed_ || slowest_.size() <= most_slow_) return;
  std::vector<std::pair<std::int32_t, std::pair<std::string, std::int64_t>>> all;
  for (const auto& [iteration, ranks] : slowest_) all.emplace_back(-ranks, iteration);
  std::ranges::sort(all);
  for (std::size_t i = most_slow_; i < all.size(); ++i) slowest_.erase(all[i].second);
}

bool Trace::is_slow_on_all(const std::string& loop, std::int64_t iteration) const {
  const auto slow = slowest_.find({loop, iteration});
  return slow != slowest_.end() && slow->second >= static_cast<std::int32_t>(experiment_->ranks().size());
}

format::KeptIterations Trace::kept_of(const std::string& loop) const {
  const auto of = levels_.find(loop);
  return {.level = of == levels_.end() ? 0 : of->second};
}

bool Trace::is_sampled(const std::string& loop, std::int64_t iteration) const {
  return kept_of(loop).has(static_cast<std::uint64_t>(iteration));
}

bool Trace::may_precede(const std::string& loop, std::int64_t iteration) const {
  return !loop.empty() && kept_of(loop).precedes(static_cast<std::uint64_t>(iteration), 0);
}

bool Trace::has_stretches() const {
  return std::ranges::all_of(levels_, [](const auto& of) { return of.first.empty() || of.first == stretches_loop; });
}

/// Each stretch has a hash of all operations so far, so after the first one that differs all do.
void Trace::find_differing_stretches() {
  if (same_stretches_) return;
  std::map<std::int64_t, std::uint64_t> hashes;
  for (std::uint32_t i = 0; i < locations_.size(); ++i) {
    if (locations_[i].thread != 0) continue;
    Reader reader = read({{i}});
    while (const Event* event = reader.next()) {
      const events::Record& r = event->record;
      if (event->type != Type::SpanEnd || r.region != events::stretches) continue;
      if (hashes.try_emplace(r.value, r.request).first->second != r.request) differing_stretches_.insert(r.value);
    }
  }
}

IsShown Trace::shown_spans(std::uint32_t rank) const {
  if (ranks_[rank].mode != format::EventMode::Sampled || (is_agreed_ && differing_stretches_.empty() && thinned_ == 0))
    return nullptr;
  return [this, rank](std::uint32_t region, std::int64_t iteration) {
    if (region == 0) return true;
    if (region == events::stretches && differing_stretches_.contains(iteration)) return false;
    const std::string loop = ranks_[rank].name_of(region);
    return is_sampled(loop, iteration) || may_precede(loop, iteration) || slowest_.contains({loop, iteration});
  };
}

/// For an experiment.
std::unique_ptr<EventSource> Trace::stream_of(std::uint32_t location, std::int64_t from_ns) const {
  const std::uint32_t rank = rank_of_location_[location];
  const bool is_thinned = !hidden_.empty();
  auto stream = std::make_unique<EventStream>(
      files_[rank], locations_[location].thread, location,
      NamesOfLocation{paths_[location], metrics_of_rank_[rank], begins_[location]}, clocks_[rank],
      is_thinned ? IsShown() : shown_spans(rank), is_thinned ? from_begin : from_ns);
  if (!is_thinned) return stream;
  return std::make_unique<SampledStream>(std::move(stream), hidden_[location]);
}

Trace::Reader Trace::read(std::span<const std::uint32_t> locations, std::int64_t from_ns, Start start) const {
  Reader reader;
  const auto add = [&](std::uint32_t location) {
    if (archive_)
      reader.streams_.push_back(std::make_unique<Otf2Stream>(*archive_, location, from_ns, start == Start::FromBegin));
    else reader.streams_.push_back(stream_of(location, from_ns));
  };
  if (locations.empty())
    for (std::uint32_t i = 0; i < locations_.size(); ++i) add(i);
  for (const std::uint32_t location : locations) add(location);
  for (std::size_t i = 0; i < reader.streams_.size(); ++i) {
    const Event* event = reader.streams_[i]->next();
    while (event && event->time_ns < from_ns) event = reader.streams_[i]->next();
    if (event) reader.heads_.push_back({event->time_ns, static_cast<std::uint32_t>(i), event});
  }
  std::ranges::make_heap(reader.heads_, std::greater<>{});
  return reader;
}

/// Moves the first head down to its place in the heap.
void Trace::Reader::sink_first() {
  const Head first = heads_[0];
  std::size_t place = 0;
  for (std::size_t child = 1; child < heads_.size(); child = 2 * place + 1) {
    if (child + 1 < heads_.size() && heads_[child] > heads_[child + 1]) ++child;
    if (!(first > heads_[child])) break;
    heads_[place] = heads_[child];
    place = child;
  }
  heads_[place] = first;
}

/// `behind`: the next event of the current stream; null: that stream has ended, or there is none.
const Event* Trace::Reader::next_of_another(const Event* behind) {
  if (behind) {
    heads_[0].time_ns = behind->time_ns;
    heads_[0].event = behind;
  } else if (current_) {
    heads_[0] = heads_.back();
    heads_.pop_back();
  }
  current_ = nullptr;
  if (heads_.empty()) return nullptr;
  sink_first();
  current_ = streams_[heads_[0].stream].get();
  constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max();
  until_ns_ = latest;
  for (std::size_t child = 1; child < std::min<std::size_t>(heads_.size(), 3); ++child) {
    const Head& other = heads_[child];
    const bool also_then = heads_[0].stream < other.stream && other.time_ns < latest;
    until_ns_ = std::min(until_ns_, other.time_ns + (also_then ? 1 : 0));
  }
  return heads_[0].event;
}

}  // namespace refrain::trace
