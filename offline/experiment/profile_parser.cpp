#include "offline/experiment/profile_parser.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "format/checksum.hpp"
#include "offline/experiment/block_reader.hpp"
#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/iteration_frames_reader.hpp"
#include "offline/experiment/schema.hpp"
#include "offline/experiment/totals_reader.hpp"

namespace refrain::experiment {

namespace {

using format::Section;

struct Header {
  bool complete;
  std::uint32_t ranks, entries;
  std::uint64_t rank_table, definitions, definitions_size;
};

Header read_header(const InputFile& file) {
  const auto beginning = file.read(0, std::min<std::uint64_t>(file.size(), format::header_size), "header");
  if (beginning.size() < sizeof format::magic ||
      std::memcmp(beginning.data(), format::magic, sizeof format::magic) != 0)
    file.fail(0, file.size() == 0 ? "the file is empty" : "not a Refrain profile");
  if (beginning.size() < format::header_size) file.fail(file.size(), "the file ends in its header");
  format::ByteCursor in(beginning);
  in.raw(sizeof format::magic);
  if (in.fixed<std::uint32_t>() != format::endianness_mark) file.fail(8, "wrong byte order mark");
  const auto major = in.fixed<std::uint16_t>();
  const auto minor = in.fixed<std::uint16_t>();
  if (major > format::major_version)
    file.fail(12, "written by a newer Refrain (format " + std::to_string(major) + "." + std::to_string(minor) +
                      "; this one reads " + std::to_string(format::major_version) + ".x)");
  if (major == 0) file.fail(12, "format version 0 does not exist");
  const auto size = in.fixed<std::uint32_t>();
  if (size < format::header_size) file.fail(16, "impossible header size");
  Header header{};
  const auto flags = in.fixed<std::uint32_t>();
  header.complete = (flags & format::flag_complete) != 0;
  header.ranks = in.fixed<std::uint32_t>();
  header.entries = in.fixed<std::uint32_t>();
  header.rank_table = in.fixed<std::uint64_t>();
  header.definitions = in.fixed<std::uint64_t>();
  header.definitions_size = in.fixed<std::uint64_t>();
  if (in.fixed<std::uint64_t>() != format::checksum(beginning.data(), format::header_size - format::checksum_size))
    file.fail(0, "the header has a wrong checksum");
  if (header.ranks == 0 || header.ranks > std::uint32_t{std::numeric_limits<std::int32_t>::max()} ||
      header.entries > header.ranks)
    file.fail(24, "impossible number of ranks");
  return header;
}

constexpr const char* totals_before_1_6[] = {"wall",    "mpi",         "own",           "cpu",    "mpi_calls",
                                             "samples", "samples_mpi", "samples_other", "weight", "weight_mpi"};

std::optional<std::size_t> own_total(std::string_view name) {
  for (std::size_t i = 0; i < format::total_count; ++i)
    if (name == format::row_of(format::total_columns[i].metric).total_name) return i;
  return std::nullopt;
}

/// What a metric is called today.
std::string_view present_name(std::string_view name) { return name == "ticks_lost" ? "samples_other" : name; }

std::vector<std::optional<std::size_t>>* columns_of_kind(Schema& schema, std::uint8_t kind) {
  return kind < path_kinds ? &schema.columns[kind] : nullptr;
}

void read_metrics(SectionReader in, Schema& schema) {
  for (std::size_t n = in.count(4); n > 0; --n) {
    const std::string_view name = in.text();
    in.text();  // the unit is part of the name's meaning
    const auto kind = in.fixed<std::uint8_t>();
    in.fixed<std::uint8_t>();
    in.check();
    auto* columns = columns_of_kind(schema, kind);
    if (!columns) in.refuse("metric of an unknown kind");
    if (static_cast<NodeKind>(kind) == NodeKind::Root) {
      schema.totals.push_back(own_total(name));
      continue;
    }
    columns->emplace_back();
    for (std::size_t i = 0; i < format::metric_count; ++i) {
      const auto& own = format::metric_table[i];
      if (own.name && name == own.name && static_cast<std::uint8_t>(own.kind) == kind)
        columns->back() = format::column_of(static_cast<format::MetricId>(i));
    }
  }
  if (schema.totals.empty())
    for (const char* name : totals_before_1_6) schema.totals.push_back(own_total(name));
  // Ticks may end at a pseudo path.
  schema.columns[static_cast<std::size_t>(NodeKind::Special)] =
      schema.columns[static_cast<std::size_t>(NodeKind::Function)];
  in.finish();
}

void read_losses(SectionReader in, Schema& schema) {
  for (std::size_t n = in.count(1); n > 0; --n) {
    const std::string_view name = in.text();
    schema.losses.emplace_back();
    for (std::size_t i = 0; i < format::loss_count; ++i)
      if (name == format::loss_table[i].name) schema.losses.back() = i;
  }
  in.finish();
}

void read_regions(SectionReader in, Profile& profile) {
  for (std::size_t n = in.count(1); n > 0; --n) profile.regions.push_back(clean_text(in.text()));
  in.finish();
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (unsigned char c : bytes) {
    out += "0123456789abcdef"[c >> 4];
    out += "0123456789abcdef"[c & 15];
  }
  return out;
}

void read_modules(SectionReader in, Profile& profile) {
  for (std::size_t n = in.count(2); n > 0; --n) {
    ProfileModule module;
    module.path = clean_text(in.text());
    module.build_id = hex(in.text());
    profile.modules.push_back(std::move(module));
  }
  in.finish();
}

void read_paths(SectionReader in, Profile& profile) {
  const std::size_t count = in.count(3);
  in.check();
  profile.paths.reserve(count + 1);
  profile.paths.push_back({0, NodeKind::Root, -1, 0});
  for (std::uint32_t i = 1; i <= count; ++i) {
    const std::uint64_t up = in.varint();
    const auto kind = in.fixed<std::uint8_t>();
    in.check();
    if (up == 0 || up > i) in.refuse("a call path before its parent");
    if (kind == 0 || kind >= path_kinds) in.refuse("a call path of unknown kind");
    CallPath path{static_cast<std::uint32_t>(i - up), static_cast<NodeKind>(kind), -1, 0};
    if (format::is_address(path.kind)) {
      const std::uint64_t module = in.varint();
      if (module > profile.modules.size()) in.refuse("a call path in a module that is not there");
      path.module = static_cast<std::int32_t>(module) - 1;
    }
    path.offset = in.varint();
    if (format::is_named(path.kind) && path.offset >= profile.regions.size())
      in.refuse("a call path of a region that is not there");
    if (path.kind == NodeKind::Special && path.offset > static_cast<std::uint64_t>(format::SpecialPath::ArenaFull))
      in.refuse("an unknown special call path");
    profile.paths.push_back(path);
  }
  in.finish();
}

void read_process(SectionReader in, Rank& rank) {
  const std::uint64_t number = in.varint();
  if (number != static_cast<std::uint64_t>(rank.rank)) in.refuse("belongs to another rank");
  rank.process_id = in.signed_varint();
  rank.host = clean_text(in.text());
  rank.ticks_per_second = finite(in);
  rank.begin_epoch_ns = in.signed_varint();
  for (Cost* cost : {&rank.call_cost, &rank.tick_cost}) {
    cost->median = finite(in);
    cost->low = finite(in);
    cost->high = finite(in);
  }
  in.finish();
  if (rank.ticks_per_second <= 0) in.refuse("a clock that stands still");
}

/// For each of the rank's own path numbers the unified one.
std::vector<std::uint32_t> read_mapping(SectionReader in, std::size_t paths) {
  if (in.remaining() % sizeof(std::uint32_t) != 0) in.refuse("not a whole number of paths");
  std::vector<std::uint32_t> mapping(in.remaining() / sizeof(std::uint32_t));
  for (auto& number : mapping)
    if ((number = in.fixed<std::uint32_t>()) >= paths) in.refuse("a call path that is not there");
  return mapping;
}

/// Classes of own time that this reader does not know are skipped.
void read_own_times(SectionReader in, Rank& rank) {
  std::vector<std::optional<std::size_t>> known(in.count(1));
  for (auto& row : known) {
    const std::string name(in.text());
    for (std::size_t i = 0; i < format::own_time_count; ++i)
      if (name == format::own_time_table[i].name) row = i;
  }
  const std::uint64_t locations = in.varint();
  in.check();
  if (locations != rank.locations.size()) in.refuse("own times of other locations than the rank has");
  for (Location& location : rank.locations)
    for (const auto& row : known) {
      format::OwnTimeMean of{};
      of.timed = static_cast<std::int64_t>(in.varint() & std::numeric_limits<std::int64_t>::max());
      if (of.timed > 0) {
        of.mean = finite(in);
        of.error = finite(in);
      }
      in.check();
      if (row) location.own_times[*row] = of;
    }
  in.finish();
}

class LocationsReader {
 public:
  LocationsReader(SectionReader in, const Profile& profile, const Schema& schema,
                  const std::vector<std::uint32_t>& mapping)
      : in_(std::move(in)), profile_(profile), schema_(schema), mapping_(mapping) {}

  void read(Rank& rank) {
    totals_ = read_total_count(in_);
    for (std::size_t n = in_.count(8); n > 0; --n) rank.locations.push_back(read_location(rank.rank));
    in_.finish();
  }

 private:
  Location read_location(std::int32_t rank) {
    Location location;
    location.rank = rank;
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
      const std::uint64_t step = in_.varint();
      in_.check();
      if (row > 0 && step == 0) in_.refuse("a call path twice in one unit");
      if (step >= mapping_.size() - std::min<std::uint64_t>(own_path, mapping_.size()))
        in_.refuse("values of a call path that is not there");
      own_path += step;
      const std::uint32_t path = mapping_[own_path];
      const NodeKind kind = profile_.paths[path].kind;
      const std::size_t first = unit.columns.size();
      if (first > std::numeric_limits<std::uint32_t>::max() - format::metric_count)
        in_.refuse("more values than can be numbered");
      unit.values.push_back({path, static_cast<std::uint32_t>(first)});
      unit.columns.resize(first + format::columns_of(kind));
      for (const auto& own : schema_.columns[static_cast<std::size_t>(kind)]) {
        const std::int64_t value = in_.signed_varint();
        if (own) unit.columns[first + *own] = value;
      }
    }
    in_.check();
    std::sort(unit.values.begin(), unit.values.end(),
              [](const PathValues& a, const PathValues& b) { return a.path < b.path; });
    for (std::size_t i = 1; i < unit.values.size(); ++i)
      if (unit.values[i].path == unit.values[i - 1].path) in_.refuse("two call paths of a rank are one in the job");
  }

  SectionReader in_;
  const Profile& profile_;
  const Schema& schema_;
  const std::vector<std::uint32_t>& mapping_;
  std::uint64_t totals_ = 0;
};

/// The metrics that the user has asked for, of one rank. Each rank has its own list: what can be counted on one machine
/// may be missing on another.
class ExtraReader {
 public:
  ExtraReader(SectionReader in, Profile& profile, const std::vector<std::uint32_t>& mapping)
      : in_(std::move(in)), profile_(profile), mapping_(mapping) {}

  void read(Rank& rank) {
    numbers_ = read_extra_metrics(in_, profile_);
    if (in_.varint() != rank.locations.size()) in_.refuse("metrics of other locations");
    for (Location& location : rank.locations) {
      if (in_.varint() != location.units.size()) in_.refuse("metrics of other units");
      for (Unit& unit : location.units) read_unit(unit.extra);
    }
    in_.finish();
  }

 private:
  void read_unit(ExtraValues& extra) {
    const std::size_t width = profile_.extra_metrics.size();
    extra.totals.resize(width);
    for (const std::size_t number : numbers_) extra.totals[number] = in_.signed_varint();
    std::uint64_t own_path = 0;
    const std::size_t rows = in_.count(1 + numbers_.size());
    in_.check();
    for (std::size_t row = 0; row < rows; ++row) {
      const std::uint64_t step = in_.varint();
      in_.check();
      if ((row > 0 && step == 0) || step >= mapping_.size() - std::min<std::uint64_t>(own_path, mapping_.size()))
        in_.refuse("metrics of a call path that is not there");
      own_path += step;
      extra.values.push_back({mapping_[own_path], static_cast<std::uint32_t>(extra.columns.size())});
      extra.columns.resize(extra.columns.size() + width);
      for (const std::size_t number : numbers_) extra.columns[extra.values.back().first + number] = in_.signed_varint();
    }
    in_.check();
    const auto before = [](const PathValues& a, const PathValues& b) { return a.path < b.path; };
    std::sort(extra.values.begin(), extra.values.end(), before);
    for (std::size_t i = 1; i < extra.values.size(); ++i)
      if (extra.values[i].path == extra.values[i - 1].path) in_.refuse("two call paths of a rank are one in the job");
  }

  SectionReader in_;
  Profile& profile_;
  const std::vector<std::uint32_t>& mapping_;
  std::vector<std::size_t> numbers_;  ///< of the rank's metrics in the profile
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

void read_communicators(SectionReader in, Rank& rank) {
  for (std::size_t n = in.count(9); n > 0; --n) {
    Communicator c{};
    for (std::int32_t* value : {&c.id, &c.parent, &c.ordinal, &c.leader, &c.rank, &c.size, &c.remote_size})
      *value = narrow(in);
    c.name = clean_text(in.text());
    read_members(in, c.members);
    rank.communicators.push_back(std::move(c));
  }
  in.finish();
}

std::int64_t read_made(SectionReader& in) {
  const auto made = static_cast<std::int64_t>(in.varint());
  in.check();
  if (made < 1) in.refuse("a record of nothing that was made");
  return made;
}

void read_communicators_made(SectionReader in, Rank& rank) {
  if (in.count(1) != rank.communicators.size()) in.refuse("not as many numbers as communicators");
  for (Communicator& c : rank.communicators) c.made = read_made(in);
  in.finish();
}

void read_windows(SectionReader in, Rank& rank) {
  for (std::size_t n = in.count(4); n > 0; --n) {
    Window& window = rank.windows.emplace_back();
    window.communicator = narrow(in);
    const auto kind = in.fixed<std::uint8_t>();
    if (kind > static_cast<std::uint8_t>(format::WindowKind::Dynamic)) in.refuse("a window of an unknown kind");
    window.kind = static_cast<format::WindowKind>(kind);
    window.made = read_made(in);
    window.name = clean_text(in.text());
  }
  for (std::size_t n = in.count(6); n > 0; --n) {
    format::WindowTraffic traffic{};
    traffic.window = narrow(in);
    traffic.target = narrow(in);
    for (std::int64_t* value : {&traffic.puts, &traffic.bytes_put, &traffic.gets, &traffic.bytes_got})
      if ((*value = in.signed_varint()) < 0) in.refuse("less than no one-sided operations");
    in.check();
    if (traffic.window < 0 || static_cast<std::size_t>(traffic.window) >= rank.windows.size() || traffic.target < 0)
      in.refuse("one-sided operations on a window that is not there");
    rank.windows[static_cast<std::size_t>(traffic.window)].targets.push_back(traffic);
  }
  in.finish();
  for (Window& window : rank.windows)
    std::sort(window.targets.begin(), window.targets.end(),
              [](const auto& a, const auto& b) { return a.target < b.target; });
}

/// The overall metrics with which the iterations of a rank were logged. They are found by name later
/// (offline/analysis/iterations.hpp), whatever metrics this program knows.
std::vector<OverallMetric> read_overall(SectionReader& in) {
  std::vector<OverallMetric> metrics;
  const std::size_t count = in.count(3);
  in.check();
  if (count > format::max_overall) in.refuse("more overall metrics than any version has");
  for (std::size_t i = 0; i < count; ++i) {
    OverallMetric metric;
    metric.name = clean_text(present_name(in.text()));
    metric.unit = clean_text(in.text());
    const auto precision = in.fixed<std::uint8_t>();
    in.check();
    if (precision > static_cast<std::uint8_t>(format::Precision::NotKept)) in.refuse("an unknown precision");
    metric.precision = static_cast<format::Precision>(precision);
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

std::int64_t iteration_number(SectionReader& in) {
  const std::uint64_t value = in.varint();
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) in.fail();
  return in.failed() ? 0 : static_cast<std::int64_t>(value);
}

Loop read_loop(SectionReader& in, const std::vector<OverallMetric>& metrics) {
  Loop loop;
  loop.name = clean_text(in.text());
  loop.iterations = iteration_number(in);
  loop.metrics = metrics;
  for (std::size_t n = in.count(7); n > 0 && !in.failed(); --n) {
    Cluster cluster;
    cluster.label = static_cast<std::uint32_t>(in.varint());
    cluster.class_index = static_cast<std::uint32_t>(in.varint());
    cluster.overflow = in.fixed<std::uint8_t>() != 0;
    for (std::int64_t* value : {&cluster.members, &cluster.first, &cluster.last, &cluster.exemplar})
      *value = iteration_number(in);
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      cluster.minimum.push_back(in.signed_varint());
      cluster.maximum.push_back(in.signed_varint());
      cluster.squares.push_back(finite(in));
    }
    loop.clusters.push_back(std::move(cluster));
  }
  in.check();
  return loop;
}

void read_loops(SectionReader in, Rank& rank) {
  const std::vector<OverallMetric> metrics = read_overall(in);
  rank.spilled_bytes = in.varint();
  const std::size_t locations = in.count(1);
  in.check();
  if (locations != rank.locations.size()) in.refuse("loops of other locations");
  for (Location& location : rank.locations) {
    for (std::size_t n = in.count(5); n > 0 && !in.failed(); --n) location.loops.push_back(read_loop(in, metrics));
    in.check();
  }
  in.finish();
}

float slope(SectionReader& in) {
  const auto value = std::bit_cast<float>(in.fixed<std::uint32_t>());
  if (!std::isfinite(value)) in.refuse("a slope that is no number");
  return value;
}

/// What columns of MPI call paths the file has: the own column of each, and what it follows.
struct FileColumns {
  std::vector<std::optional<std::size_t>> own;
  std::vector<Follows> follows;
};

ClassSlopes read_class_slopes(SectionReader& in, const FileColumns& columns, const Profile& profile, const Rank& rank) {
  ClassSlopes slopes;
  slopes.class_index = static_cast<std::uint32_t>(in.varint());
  std::vector<std::uint64_t> masks;
  const std::size_t rows = in.count(2);
  in.check();
  std::uint64_t path = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint64_t step = in.varint();
    masks.push_back(in.varint());
    in.check();
    if (row > 0 && step == 0) in.refuse("a call path twice in one class");
    if (step >= rank.paths.size() - std::min<std::uint64_t>(path, rank.paths.size()))
      in.refuse("slopes of a call path that is not there");
    path += step;
    if (profile.paths[rank.paths[path]].kind != NodeKind::Region) in.refuse("slopes of what is no MPI call");
    slopes.paths.push_back({rank.paths[path]});
  }
  for (std::size_t c = 0; c < columns.own.size(); ++c) {
    const auto own = columns.own[c];
    for (std::size_t row = 0; row < rows; ++row)
      if (masks[row] >> c & 1)
        if (const float value = slope(in); own) slopes.paths[row].first[*own] = value;
    if (columns.follows[c].second < 0) continue;
    for (std::size_t row = 0; row < rows; ++row)
      if (masks[row] >> c & 1)
        if (const float value = slope(in); own) slopes.paths[row].second[*own] = value;
  }
  std::sort(slopes.paths.begin(), slopes.paths.end(),
            [](const PathSlopes& a, const PathSlopes& b) { return a.path < b.path; });
  return slopes;
}

void read_slopes(SectionReader in, const Profile& profile, const Schema& schema, Rank& rank) {
  const auto metric = [&] {
    const std::uint64_t number = in.varint();
    if (number > format::max_overall) in.refuse("follows an overall metric that is not there");
    return static_cast<std::int32_t>(number) - 1;
  };
  FileColumns columns{schema.columns[static_cast<std::size_t>(NodeKind::Region)], {}};
  const std::size_t count = in.count(2);
  in.check();
  if (count != columns.own.size() || count > 64) in.refuse("slopes of other columns than call paths have");
  std::vector<Follows> follows(format::columns_of(NodeKind::Region));
  for (std::size_t c = 0; c < count; ++c) {
    Follows& of = columns.follows.emplace_back();
    of.first = metric();
    of.second = metric();
    if (columns.own[c]) follows[*columns.own[c]] = of;
  }
  const std::size_t locations = in.count(1);
  in.check();
  if (locations != rank.locations.size()) in.refuse("slopes of other locations");
  for (Location& location : rank.locations) {
    const std::size_t loops = in.count(1);
    in.check();
    if (loops != location.loops.size()) in.refuse("slopes of other loops");
    for (Loop& loop : location.loops) {
      for (std::size_t n = in.count(2); n > 0 && !in.failed(); --n)
        loop.slopes.push_back(read_class_slopes(in, columns, profile, rank));
      in.check();
      loop.follows = follows;
      for (const Follows& of : follows)
        if (std::max(of.first, of.second) >= static_cast<std::int32_t>(loop.metrics.size()))
          in.refuse("follows an overall metric that is not there");
    }
  }
  in.finish();
}

bool clusters_are_there(const Rank& rank) {
  for (const Location& location : rank.locations)
    for (const Unit& unit : location.units) {
      if (unit.loop < 0) continue;
      if (static_cast<std::size_t>(unit.loop) >= location.loops.size() || unit.cluster < 0 ||
          static_cast<std::size_t>(unit.cluster) >= location.loops[unit.loop].clusters.size())
        return false;
    }
  return true;
}

/// One entry of the rank table. Nothing when the rank has not written.
std::optional<Rank> read_rank(const InputFile& file, const Header& header, std::uint32_t index, Profile& profile,
                              const Schema& schema) {
  const std::uint64_t place = header.rank_table + std::uint64_t{index} * format::rank_entry_size;
  const auto bytes = file.read(place, format::rank_entry_size, "entry of the rank table");
  if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; })) return std::nullopt;
  format::ByteCursor in(bytes);
  const auto number = in.fixed<std::uint32_t>();
  const auto flags = in.fixed<std::uint32_t>();
  const auto offset = in.fixed<std::uint64_t>();
  const auto size = in.fixed<std::uint64_t>();
  if (in.fixed<std::uint64_t>() != format::checksum(bytes.data(), bytes.size() - format::checksum_size))
    file.fail(place, "an entry of the rank table has a wrong checksum");
  if ((flags & format::flag_rank_present) == 0) return std::nullopt;
  if (number >= header.ranks ||
      (!profile.ranks.empty() && number <= static_cast<std::uint32_t>(profile.ranks.back().rank)))
    file.fail(place, "an entry of the rank table has an impossible rank");

  const BlockReader block(file, offset, size, "rank " + std::to_string(number));
  Rank rank;
  rank.rank = static_cast<std::int32_t>(number);
  read_process(block.section(Section::Rank, "rank"), rank);
  rank.paths = read_mapping(block.section(Section::PathMapping, "path mapping"), profile.paths.size());
  for (const auto& own : schema.columns[static_cast<std::size_t>(NodeKind::Function)])
    rank.function_columns.push_back(own ? static_cast<std::int32_t>(*own) : -1);
  LocationsReader(block.section(Section::Locations, "locations"), profile, schema, rank.paths).read(rank);
  if (block.has(Section::OwnTimes)) read_own_times(block.section(Section::OwnTimes, "own times"), rank);
  if (block.has(Section::Extra)) ExtraReader(block.section(Section::Extra, "extra"), profile, rank.paths).read(rank);
  if (block.has(Section::Totals)) {
    auto runs = read_totals(block.section(Section::Totals, "totals"), schema, profile, rank.paths, rank.rank);
    const auto same = [](const LocationRun& run, const Location& location) {
      return run.definition.thread == location.thread && run.definition.os_thread_id == location.os_thread_id;
    };
    if (!std::equal(runs.begin(), runs.end(), rank.locations.begin(), rank.locations.end(), same))
      file.fail(0, "rank " + std::to_string(rank.rank) + ": has totals of other locations");
    for (std::size_t i = 0; i < runs.size(); ++i) rank.locations[i].run = std::move(runs[i].totals);
  }
  read_communicators(block.section(Section::Communicators, "communicators"), rank);
  if (block.has(Section::CommunicatorsMade))
    read_communicators_made(block.section(Section::CommunicatorsMade, "communicators made"), rank);
  if (block.has(Section::Windows)) read_windows(block.section(Section::Windows, "windows"), rank);
  if (block.has(Section::Loops)) read_loops(block.section(Section::Loops, "loops"), rank);
  if (block.has(Section::Slopes)) read_slopes(block.section(Section::Slopes, "slopes"), profile, schema, rank);
  if (!clusters_are_there(rank))
    file.fail(0, "rank " + std::to_string(rank.rank) + ": has totals of clusters that are not there");
  if (block.has(Section::Iterations)) {
    const BlockReader::Place frames = block.place(Section::Iterations, "iterations");
    find_iterations(file, frames.offset, frames.size, rank);
  }
  return rank;
}

}  // namespace

Profile parse_profile(const InputFile& file) {
  const Header header = read_header(file);
  Profile profile;
  profile.ranks_expected = static_cast<std::int32_t>(header.ranks);

  const BlockReader definitions(file, header.definitions, header.definitions_size, "definitions");
  Schema schema;
  SectionReader writer = definitions.section(Section::Writer, "writer");
  profile.version = clean_text(writer.text());
  writer.check();
  read_metrics(definitions.section(Section::Metrics, "metrics"), schema);
  read_losses(definitions.section(Section::Losses, "losses"), schema);
  read_regions(definitions.section(Section::Regions, "regions"), profile);
  read_modules(definitions.section(Section::Modules, "modules"), profile);
  read_paths(definitions.section(Section::Paths, "paths"), profile);

  for (std::uint32_t i = 0; i < header.entries; ++i)
    if (auto rank = read_rank(file, header, i, profile, schema)) profile.ranks.push_back(std::move(*rank));
  profile.complete = header.complete && profile.ranks.size() == header.ranks;
  return profile;
}

}  // namespace refrain::experiment
