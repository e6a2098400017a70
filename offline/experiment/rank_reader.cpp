#include "offline/experiment/rank_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/durations_reader.hpp"
#include "offline/experiment/events_reader.hpp"
#include "offline/experiment/iteration_frames_reader.hpp"
#include "offline/experiment/loops_reader.hpp"
#include "offline/experiment/totals_reader.hpp"

namespace refrain::experiment {
namespace {

using format::Section;

void read_process(SectionReader in, Rank& rank) {
  const std::uint64_t number = in.varint();
  if (number != static_cast<std::uint64_t>(rank.rank)) in.refuse("belongs to another rank");
  rank.process_id = in.signed_varint();
  rank.host = clean_text(in.name(NameKind::Host));
  rank.ticks_per_second = finite(in);
  rank.begin_epoch_ns = in.signed_varint();
  for (Cost* cost : {&rank.call_cost, &rank.tick_cost}) {
    cost->median = finite(in);
    cost->low = finite(in);
    cost->high = finite(in);
  }
  in.finish();
  if (!(rank.ticks_per_second >= 1)) in.refuse("a clock that stands still");
}

std::vector<Cores::Run> read_core_runs(SectionReader& in) {
  constexpr std::uint64_t most = 1 << 20;
  std::vector<Cores::Run> runs;
  std::uint64_t end = 0;
  for (std::size_t n = in.count(2); n > 0; --n) {
    const std::uint64_t distance = in.varint(), count = in.varint();
    in.check();
    if (distance > most || count == 0 || count > most || end + distance + count > most)
      in.refuse("cores that no machine has");
    runs.push_back({static_cast<std::uint32_t>(end + distance), static_cast<std::uint32_t>(count)});
    end += distance + count;
  }
  return runs;
}

void read_cores(SectionReader& in, Rank& rank) {
  Cores cores;
  cores.at_begin = read_core_runs(in);
  cores.at_end = read_core_runs(in);
  cores.quota_in_thousandths = static_cast<std::int64_t>(in.varint() & std::numeric_limits<std::int64_t>::max());
  in.finish();
  rank.cores = std::move(cores);
}

void read_cores_taken(SectionReader& in, Rank& rank) {
  for (auto* const ns : {&rank.cores.throttled_ns, &rank.cores.taken_ns})
    if (const std::uint64_t above = in.varint(); above > 0)
      *ns = static_cast<std::int64_t>((above - 1) & std::numeric_limits<std::int64_t>::max());
  in.finish();
}

/// Skips classes of own time that this reader does not know.
void read_own_times(SectionReader& in, Rank& rank) {
  std::vector<std::optional<std::size_t>> known(in.count(1));
  for (auto& row : known) {
    const std::string name(in.text());
    for (std::size_t i = 0; i < format::own_time_count; ++i)
      if (name == format::own_time_table[i].name) row = i;
  }
  const std::uint64_t locations = in.varint();
  in.check();
  if (locations != rank.locations.size()) in.refuse("own times of other locations than the rank has");
  std::vector<std::array<format::OwnTimeMean, format::own_time_count>> read(rank.locations.size());
  for (auto& times : read)
    for (const auto& row : known) {
      format::OwnTimeMean of{};
      of.timed = static_cast<std::int64_t>(in.varint() & std::numeric_limits<std::int64_t>::max());
      if (of.timed > 0) {
        of.mean = finite(in);
        of.error = finite(in);
      }
      in.check();
      if (row) times[*row] = of;
    }
  in.finish();
  for (std::size_t l = 0; l < read.size(); ++l) rank.locations[l].own_times = read[l];
}

class LocationsReader {
 public:
  LocationsReader(SectionReader& in, const ProfileDefinitions& definitions, const Schema& schema, const Rank& rank)
      : in_(in), schema_(schema), rank_(rank), columns_(in, schema, definitions, rank) {}

  std::vector<Location> read() {
    std::vector<Location> locations;
    totals_ = read_total_count(in_);
    for (std::size_t n = in_.count(8); n > 0; --n) locations.push_back(read_location());
    in_.finish();
    return locations;
  }

 private:
  Location read_location() {
    Location location;
    location.rank = rank_.rank;
    read_location_head(in_, schema_, location);
    const std::size_t units = in_.count(11);
    in_.check();
    for (std::size_t n = 0; n < units; ++n) location.units.push_back(read_unit());
    return location;
  }

  Unit read_unit() {
    Unit unit;
    unit.loop = narrow(in_);
    unit.cluster = narrow(in_);
    read_unit_totals(in_, schema_, totals_, unit);
    read_values(unit);
    return unit;
  }

  void read_values(Unit& unit) {
    const std::size_t rows = in_.count(1);
    in_.check();
    unit.values.reserve(rows);
    std::uint64_t own_path = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      own_path = path_after(in_, own_path, row, rank_.paths.size());
      const std::uint32_t path = rank_.paths[own_path];
      unit.values.push_back({path, columns_.read(path, unit.columns, unit.extra)});
    }
    in_.check();
    sort_by_path(in_, unit.values);
    std::ranges::sort(unit.extra.values, {}, &PathValues::path);
  }

  SectionReader& in_;
  const Schema& schema_;
  const Rank& rank_;
  ColumnsReader columns_;
  std::uint64_t totals_ = 0;
};

/// Reads the metrics that the user requested, for one rank. Each rank has its own list, because what can be counted on
/// one machine may be missing on another.
class ExtraReader {
 public:
  ExtraReader(SectionReader& in, const Rank& rank) : in_(in), mapping_(rank.paths), metrics_(rank.extra_metrics) {}

  /// Adds the requested metrics after the rank's metrics of later versions.
  void read(Rank& rank) {
    numbers_ = read_extra_metrics(in_, metrics_);
    if (in_.varint() != rank.locations.size()) in_.refuse("metrics of other locations");
    std::vector<std::vector<ExtraValues>> read;
    for (const Location& location : rank.locations) {
      if (in_.varint() != location.units.size()) in_.refuse("metrics of other units");
      auto& units = read.emplace_back();
      for (const Unit& unit : location.units) units.push_back(read_unit(unit.extra));
    }
    in_.finish();
    for (std::size_t l = 0; l < read.size(); ++l)
      for (std::size_t u = 0; u < read[l].size(); ++u) rank.locations[l].units[u].extra = std::move(read[l][u]);
    rank.extra_metrics = std::move(metrics_);
    rank.asked_for = std::move(numbers_);
  }

 private:
  ExtraValues read_unit(const ExtraValues& later) {
    const std::size_t width = metrics_.size();
    ExtraValues extra{later.totals, {}, {}};
    extra.totals.resize(width);
    for (const std::size_t number : numbers_) extra.totals[number] = in_.signed_varint();
    const auto add_row = [&](std::uint32_t path) {
      extra.values.push_back({path, static_cast<std::uint32_t>(extra.columns.size())});
      extra.columns.resize(extra.columns.size() + width);
    };
    std::uint64_t own_path = 0;
    const std::size_t rows = in_.count(1 + numbers_.size());
    in_.check();
    for (std::size_t row = 0; row < rows; ++row) {
      own_path = path_after(in_, own_path, row, mapping_.size());
      add_row(mapping_[own_path]);
      for (const std::size_t number : numbers_) extra.columns[extra.values.back().first + number] = in_.signed_varint();
    }
    in_.check();
    sort_by_path(in_, extra.values);
    for (const PathValues& row : later.values) {
      const auto asked_for = std::span(extra.values).first(rows);
      const auto at = std::ranges::lower_bound(asked_for, row.path, {}, &PathValues::path);
      const bool has_row = at != asked_for.end() && at->path == row.path;
      if (!has_row) add_row(row.path);
      const std::size_t first = has_row ? at->first : extra.values.back().first;
      for (std::size_t m = 0; m < later.totals.size(); ++m) extra.columns[first + m] += later.of(row, m);
    }
    std::ranges::sort(extra.values, {}, &PathValues::path);
    return extra;
  }

  SectionReader& in_;
  const std::vector<std::uint32_t>& mapping_;
  std::vector<ExtraMetric> metrics_;
  std::vector<std::size_t> numbers_;  ///< index in metrics_ of each metric in the section
};

void read_members(SectionReader& in, MemberList& members) {
  const std::uint64_t count = in.varint();
  in.check();
  while (members.size() < count) {
    const std::int32_t first = narrow(in), stride = narrow(in);
    const std::uint64_t length = in.varint();
    in.check();
    if (length == 0 || length > count - members.size()) in.refuse("a communicator with more members than it says");
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (length - 1 > static_cast<std::uint64_t>(most)) in.refuse("a communicator larger than any job");
    const std::int64_t last = first + static_cast<std::int64_t>(length - 1) * stride;
    if (std::min<std::int64_t>(first, last) < -1 || last > most) in.refuse("a member that is no rank");
    members.append(first, stride, length);
  }
}

void read_communicators(SectionReader& in, Rank& rank) {
  std::vector<Communicator> communicators;
  for (std::size_t n = in.count(9); n > 0; --n) {
    Communicator c{};
    for (std::int32_t* value : {&c.id, &c.parent, &c.ordinal, &c.leader, &c.rank, &c.size, &c.remote_size})
      *value = narrow(in);
    c.name = clean_text(in.name(NameKind::Communicator));
    read_members(in, c.members);
    communicators.push_back(std::move(c));
  }
  in.finish();
  rank.communicators = std::move(communicators);
}

std::int64_t read_made(SectionReader& in) {
  const auto made = static_cast<std::int64_t>(in.varint());
  in.check();
  if (made < 1) in.refuse("a record of nothing that was made");
  return made;
}

void read_communicators_made(SectionReader& in, Rank& rank) {
  if (in.count(1) != rank.communicators.size()) in.refuse("not as many numbers as communicators");
  std::vector<std::int64_t> made;
  for (std::size_t i = 0; i < rank.communicators.size(); ++i) made.push_back(read_made(in));
  in.finish();
  for (std::size_t i = 0; i < made.size(); ++i) rank.communicators[i].made = made[i];
}

void read_windows(SectionReader& in, Rank& rank) {
  std::vector<Window> windows;
  for (std::size_t n = in.count(4); n > 0; --n) {
    Window& window = windows.emplace_back();
    window.communicator = narrow(in);
    const auto kind = in.fixed<std::uint8_t>();
    if (kind > static_cast<std::uint8_t>(format::WindowKind::Dynamic)) in.refuse("a window of an unknown kind");
    window.kind = static_cast<format::WindowKind>(kind);
    window.made = read_made(in);
    window.name = clean_text(in.name(NameKind::Window));
  }
  for (std::size_t n = in.count(6); n > 0; --n) {
    format::WindowTraffic traffic{};
    traffic.window = narrow(in);
    traffic.target = narrow(in);
    for (std::int64_t* value : {&traffic.puts, &traffic.bytes_put, &traffic.gets, &traffic.bytes_got})
      if ((*value = in.signed_varint()) < 0) in.refuse("less than no one-sided operations");
    in.check();
    if (traffic.window < 0 || static_cast<std::size_t>(traffic.window) >= windows.size() || traffic.target < 0)
      in.refuse("one-sided operations on a window that is not there");
    windows[static_cast<std::size_t>(traffic.window)].targets.push_back(traffic);
  }
  in.finish();
  for (Window& window : windows) std::ranges::sort(window.targets, {}, &format::WindowTraffic::target);
  rank.windows = std::move(windows);
}

}  // namespace

template <class Parse>
bool RankReader::survives(Section type, const char* name, const std::string& cost, Parse&& parse) const {
  return file_.damage().survives(cost, [&] {
    SectionReader in = block_.section(type, name);
    parse(in);
  });
}

/// Reads the experiment's path number for each of the rank's own path numbers.
void RankReader::read_mapping(Rank& rank) const {
  SectionReader in = block_.section(Section::PathMapping, "path mapping");
  if (in.remaining() % sizeof(std::uint32_t) != 0) in.refuse("not a whole number of paths");
  rank.paths.resize(in.remaining() / sizeof(std::uint32_t));
  for (auto& number : rank.paths) {
    if ((number = in.fixed<std::uint32_t>()) >= paths_.size()) in.refuse("a call path that is not there");
    number = paths_[number];
  }
}

void RankReader::read_communication(Rank& rank) const {
  const std::string of = " of rank " + std::to_string(rank.rank);
  if (survives(Section::Communicators, "communicators", "the communicators" + of + " are missing",
               [&](SectionReader& in) { read_communicators(in, rank); }) &&
      block_.has(Section::CommunicatorsMade))
    survives(Section::CommunicatorsMade, "communicators made", "how often communicators" + of + " were made is missing",
             [&](SectionReader& in) { read_communicators_made(in, rank); });
  if (block_.has(Section::Windows))
    survives(Section::Windows, "windows", "the windows" + of + " are missing",
             [&](SectionReader& in) { read_windows(in, rank); });
}

void RankReader::read_loops_of(Rank& rank, Depth depth) const {
  const std::string of = " of rank " + std::to_string(rank.rank);
  const auto in_loop = [](const Unit& unit) { return unit.loop >= 0; };
  const bool has_loops = block_.has(Section::Loops) || std::ranges::any_of(rank.locations, [&](const Location& l) {
                           return std::ranges::any_of(l.units, in_loop);
                         });
  if (!has_loops || !survives(Section::Loops, "loops", "the iterations" + of + " are missing",
                              [&](SectionReader& in) { read_loops(in, rank); }))
    return;
  if (block_.has(Section::SingleIterations))
    survives(Section::SingleIterations, "single iterations",
             "the slowest iterations and times of passed ones" + of + " are missing",
             [&](SectionReader& in) { read_single_iterations(in, rank); });
  if (block_.has(Section::Slopes))
    file_.damage().survives("call paths of iterations" + of + " are reconstructed without slopes", [&] {
      if (depth != Depth::Whole) return block_.check(Section::Slopes, "slopes");  // they change the values of clusters
      SectionReader in = block_.section(Section::Slopes, "slopes");
      read_slopes(in, definitions_, schema_, rank);
    });
  if (block_.has(Section::Iterations))
    file_.damage().survives("the iterations" + of + " are missing", [&] {
      const BlockReader::Place frames = block_.place(Section::Iterations, "iterations");
      find_iterations(file_, frames.offset, frames.size, rank);
    });
}

/// The section Totals has the locations, too. When it is missing or damaged, they are those of the units; when only the
/// units are damaged, the run as a whole is left.
void RankReader::read_locations(Rank& rank, Depth depth) const {
  const std::string of = " of rank " + std::to_string(rank.rank);
  RankTotals run;
  const bool has_run = block_.has(Section::Totals) &&
                       survives(Section::Totals, "totals", "the totals" + of + " are those of its units",
                                [&](SectionReader& in) { run = read_totals(in, schema_, definitions_, rank); });
  if (has_run) {  // the section Extra has the same metrics
    rank.extra_metrics = std::move(run.extra_metrics);
    rank.asked_for = std::move(run.asked_for);
  }
  const auto read_units = [&] {
    SectionReader in = block_.section(Section::Locations, "locations");
    rank.locations = LocationsReader(in, definitions_, schema_, rank).read();
  };
  if (!has_run) return read_units();
  if (depth == Depth::Whole) {
    const auto same = [](const Location& a, const Location& b) {
      return a.thread == b.thread && a.os_thread_id == b.os_thread_id;
    };
    if (file_.damage().survives("what call paths" + of + " have in iterations and clusters is missing", [&] {
          read_units();
          if (!std::ranges::equal(run.locations, rank.locations, same))
            file_.fail(0, "rank " + std::to_string(rank.rank) + ": has totals of other locations");
        })) {
      for (std::size_t i = 0; i < run.locations.size(); ++i) rank.locations[i].run = std::move(run.locations[i].run);
      return;
    }
  }
  rank.locations = std::move(run.locations);
}

Rank RankReader::read(std::int32_t number, Depth depth) const {
  Rank rank;
  rank.rank = number;
  read_process(block_.section(Section::Rank, "rank"), rank);
  read_mapping(rank);
  for (const ColumnPlace& place : schema_.columns[static_cast<std::size_t>(NodeKind::Function)])
    rank.function_columns.push_back(place.own);
  rank.extra_metrics = schema_.later;
  rank.off_cpu_is_counted = std::ranges::any_of(schema_.totals, [](const std::optional<std::size_t>& total) {
    return total && format::total_columns[*total].metric == format::MetricId::OffCpuMpi;
  });
  rank.off_cpu_of_calls_is_counted =
      std::ranges::any_of(schema_.columns[static_cast<std::size_t>(NodeKind::Region)], [](const ColumnPlace& place) {
        return place.own == static_cast<int>(format::column_of(format::MetricId::OffCpuMpi));
      });
  for (ExtraMetric& metric : rank.extra_metrics)
    if (metric.unit == "ticks") metric.unit = "ns";
  read_locations(rank, depth);
  const std::string on = " on rank " + std::to_string(number);
  if (block_.has(Section::Cores))
    survives(Section::Cores, "cores", "which cores there were" + on + " is missing",
             [&](SectionReader& in) { read_cores(in, rank); });
  if (block_.has(Section::CoresTaken))
    survives(Section::CoresTaken, "cores taken", "what quotas and interrupts took of the cores" + on + " is missing",
             [&](SectionReader& in) { read_cores_taken(in, rank); });
  if (block_.has(Section::OwnTimes))
    survives(Section::OwnTimes, "own times", "Refrain's own time" + on + " is as calibrated",
             [&](SectionReader& in) { read_own_times(in, rank); });
  const bool has_units = std::ranges::any_of(rank.locations, [](const Location& of) { return !of.units.empty(); });
  if (block_.has(Section::Extra) && has_units)
    survives(Section::Extra, "extra", "what units have of the metrics that were asked for is missing" + on,
             [&](SectionReader& in) { ExtraReader(in, rank).read(rank); });
  read_communication(rank);
  if (block_.has(Section::Durations))
    survives(Section::Durations, "durations", "how long single calls have taken" + on + " is missing",
             [&](SectionReader& in) { read_durations(in, rank); });
  if (block_.has(Section::Events))
    survives(Section::Events, "events", "events" + on + " are missing",
             [&](SectionReader& in) { rank.events = read_events(in, rank); });
  if (block_.has(Section::SampledMessages) && rank.events)
    survives(Section::SampledMessages, "sampled messages", "the messages that were sampled" + on + " are missing",
             [&](SectionReader& in) { read_sampled_messages(in, *rank.events); });
  if (block_.has(Section::EventFrames))
    file_.damage().survives("the events" + on + " are missing", [&] {
      const BlockReader::Place frames = block_.place(Section::EventFrames, "frames of events");
      rank.event_frames = {file_.source(), frames.offset, frames.size, nullptr};
    });
  if (depth >= Depth::Loops) read_loops_of(rank, depth);
  return rank;
}

}  // namespace refrain::experiment
