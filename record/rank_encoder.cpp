#include "record/rank_encoder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "config/line.hpp"
#include "measurement/regions.hpp"
#include "record/durations_encoder.hpp"
#include "record/events_encoder.hpp"
#include "record/file_identity.hpp"
#include "record/frames.hpp"
#include "record/module_lookup.hpp"
#include "record/path_rows.hpp"
#include "record/totals_encoder.hpp"

namespace refrain::record {

namespace {

/// Numbers the nodes of one location in the rank's tree.
class NodeResolver {
 public:
  NodeResolver(const RankRecord& record, DefinitionSet& definitions) : record_(record), definitions_(definitions) {}

  bool create() {
    return lookup_.create(record_.modules) && make(module_numbers_, record_.modules.size()) &&
           make(mpi_numbers_, record_.region_names.size()) && make(user_numbers_, record_.user_regions.size());
  }

  bool resolve(std::span<const Node> nodes, std::uint32_t* paths) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = nodes[i];
      if (i == 0 || node.kind == NodeKind::Root) {
        paths[i] = 0;
        continue;
      }
      PathDefinition path{node.key, node.parent < i ? paths[node.parent] : 0, -1, node.kind};
      if (format::is_address(node.kind) && !find_module(node, path)) return false;
      if (format::is_named(node.kind) && !name(path)) return false;
      if ((paths[i] = definitions_.path(path)) == DefinitionSet::none) return false;
    }
    return true;
  }

 private:
  static bool make(Numbers& numbers, std::size_t count) {
    if (!numbers.resize(count)) return false;
    for (auto& number : numbers) number = DefinitionSet::none;
    return true;
  }

  /// Sets module and offset of the path if a known module contains the node's address. False: no memory.
  bool find_module(const Node& node, PathDefinition& path) {
    // A return address may be one past the end of its function and of its module, since the call lies before it.
    const std::uint64_t inside = node.kind == NodeKind::Frame && node.key != 0 ? node.key - 1 : node.key;
    const int found = lookup_.find(inside, node.generation);
    if (found < 0) return true;
    const platform::Module& m = record_.modules[static_cast<std::size_t>(found)];
    std::uint32_t& number = module_numbers_[static_cast<std::size_t>(found)];
    if (number == DefinitionSet::none) {
      FileIdentity identity;
      std::span<const std::uint8_t> id(m.build_id, m.build_id_size);
      if (id.empty()) id = identify(m, identity);
      number = definitions_.module(fixed_text(m.path, sizeof m.path), id);
    }
    path.module = static_cast<std::int32_t>(number);
    path.offset = node.key - m.base;
    return number != DefinitionSet::none;
  }

  bool name(PathDefinition& path) {
    const bool is_user = path.offset >= measurement::first_user_region;
    const std::uint64_t at = path.offset - (is_user ? std::uint64_t{measurement::first_user_region} : 0);
    const std::span<const char* const> names = is_user ? record_.user_regions : record_.region_names;
    if (at >= names.size()) {
      char text[32];
      config::Line(text, sizeof text) << "(region " << static_cast<std::int64_t>(path.offset) << ")";
      path.offset = definitions_.region(text);
    } else {
      std::uint32_t& number = (is_user ? user_numbers_ : mpi_numbers_)[at];
      if (number == DefinitionSet::none) number = definitions_.region(names[at]);
      path.offset = number;
    }
    return path.offset != DefinitionSet::none;
  }

  const RankRecord& record_;
  DefinitionSet& definitions_;
  ModuleLookup lookup_;
  Numbers module_numbers_, mpi_numbers_, user_numbers_;
};

/// Finds the rank's own path of each node, for one location after the other.
bool resolve_paths(const RankRecord& record, DefinitionSet& definitions, Numbers& paths) {
  NodeResolver resolver(record, definitions);
  std::size_t nodes = 0;
  for (const LocationRecord& location : record.locations) nodes += location.nodes.size();
  if (!resolver.create() || !paths.resize(nodes)) return false;
  std::uint32_t* at = paths.data();
  for (const LocationRecord& location : record.locations) {
    if (!resolver.resolve(location.nodes, at)) return false;
    at += location.nodes.size();
  }
  return true;
}

/// Encodes the values of a unit by path. `values_of` as in collect_rows(); `combine(row, values)` adds another row of a
/// path.
template <class ValuesOf, class Combine>
void encode_rows(const UnitRecord& unit, const LocationRecord& location, Paths paths, ValuesOf values_of,
                 Combine combine, GrowableArray<Row>& rows, Encoder& out) {
  if (!collect_rows(unit, location, paths, values_of, rows)) return out.fail();
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) distinct += i == 0 || rows[i].path != rows[i - 1].path;
  out.varint(distinct);
  std::uint32_t last_path = 0;
  (void)for_each_path(rows.view(), [&](std::span<const Row> of_path) {
    std::int64_t values[max_values];
    std::ranges::copy(of_path[0].values, values);
    for (const Row& row : of_path.subspan(1)) combine(row, values);
    out.varint(of_path[0].path - last_path);
    for (std::size_t v = 0; v < of_path[0].values.size(); ++v) out.signed_varint(values[v]);
    last_path = of_path[0].path;
    return true;
  });
}

void encode_unit(const UnitRecord& unit, const LocationRecord& location, Paths paths, GrowableArray<Row>& rows,
                 Encoder& out) {
  out.signed_varint(unit.loop);
  out.signed_varint(unit.cluster);
  for (const auto& column : format::total_columns) out.signed_varint(unit.*column.total);
  out.real(unit.weight_user_squared);
  const auto values_of = [](NodeKind kind, const std::int64_t* values) {
    return std::span(values, kind_columns(kind).count);
  };
  const auto combine = [](const Row& row, std::int64_t* values) {
    combine_columns(row.kind, row.values.data(), values);
  };
  encode_rows(unit, location, paths, values_of, combine, rows, out);
}

void encode_locations(const RankRecord& record, const Numbers& all_paths, Encoder& out) {
  GrowableArray<Row> rows;
  out.varint(format::total_count);
  out.varint(record.locations.size());
  for_each_location(record, all_paths, [&](const LocationRecord& location, Paths paths) {
    encode_location_head(location, out);
    out.varint(location.units.size());
    for (const UnitRecord& unit : location.units) encode_unit(unit, location, paths, rows, out);
  });
}

/// Encodes the extra metrics, which have a section of their own so that readers which do not know it miss nothing else.
void encode_extra_unit(const UnitRecord& unit, const LocationRecord& location, Paths paths, std::size_t metrics,
                       GrowableArray<Row>& rows, Encoder& out) {
  for (std::size_t m = 0; m < metrics; ++m) out.signed_varint(unit.extra[m]);
  const auto values_of = [&](NodeKind kind, const std::int64_t* values) {
    const std::size_t count = measurement::has_extra_columns(kind) ? metrics : 0;
    return std::span(values + kind_columns(kind).count, count);
  };
  const auto combine = [](const Row& row, std::int64_t* values) { add_extras(row.values, values); };
  encode_rows(unit, location, paths, values_of, combine, rows, out);
}

void encode_extra(const RankRecord& record, const Numbers& all_paths, Encoder& out) {
  GrowableArray<Row> rows;
  encode_extra_metrics(record, out);
  out.varint(record.locations.size());
  for_each_location(record, all_paths, [&](const LocationRecord& location, Paths paths) {
    out.varint(location.units.size());
    for (const UnitRecord& unit : location.units)
      encode_extra_unit(unit, location, paths, record.extra_metrics.size(), rows, out);
  });
}

void encode_overall_metrics(const RankRecord& record, Encoder& out) {
  out.varint(measurement::logged_count + record.extra_metrics.size());
  for (const measurement::MetricId metric : format::logged_metrics) {
    const auto& row = format::row_of(metric);
    out.text(row.total_name);
    out.text(row.unit);
    out.fixed(static_cast<std::uint8_t>(row.log));
  }
  for (const measurement::ExtraMetric& metric : record.extra_metrics) {
    out.text(metric.name);
    out.text(metric.unit);
    out.fixed(static_cast<std::uint8_t>(clustering::Precision::Exact));
  }
}

/// Keeps 12 bits of fraction, so that the value compresses. A standard deviation is computed from it and needs no more.
double rounded(double value) {
  constexpr std::uint64_t dropped = (std::uint64_t{1} << 40) - 1;
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(value) + dropped / 2 + 1) & ~dropped);
}

void encode_cluster(const clustering::ClusterView& c, std::size_t metrics, Encoder& out) {
  out.varint(static_cast<std::uint32_t>(c.label));
  out.varint(c.class_index);
  out.fixed(static_cast<std::uint8_t>(c.overflow));
  for (const std::uint64_t value : {c.members, c.first, c.last, c.exemplar}) out.varint(value);
  for (std::size_t i = 0; i < metrics; ++i) {
    out.signed_varint(c.minimum[i]);
    out.signed_varint(c.maximum[i]);
    out.real(rounded(c.squares[i]));
  }
}

void encode_loops(const RankRecord& record, Encoder& out) {
  encode_overall_metrics(record, out);
  const std::size_t metrics = measurement::logged_count + record.extra_metrics.size();
  out.varint(record.spilled_bytes);
  out.varint(record.locations.size());
  for (const LocationRecord& location : record.locations) {
    out.varint(location.loops.size());
    for (const LoopRecord& loop : location.loops) {
      out.text(loop.name);
      out.varint(loop.iterations);
      out.varint(loop.clusters.size());
      for (const clustering::ClusterView& cluster : loop.clusters) encode_cluster(cluster, metrics, out);
    }
  }
}

void encode_single_iterations(const RankRecord& record, Encoder& out) {
  out.varint(record.locations.size());
  for (const LocationRecord& location : record.locations) {
    out.varint(location.loops.size());
    for (const LoopRecord& loop : location.loops) {
      for (const measurement::PassedIterations::Sum& passed : loop.passed) {
        out.varint(passed.count);
        for (const std::int64_t value : {passed.wall, passed.cpu_ns, passed.off_ns}) out.signed_varint(value);
      }
      out.varint(loop.thinned_from);
      out.varint(loop.level);
      out.varint(loop.slowest.count);
      for (const auto& slow : std::span(loop.slowest.one, loop.slowest.count)) {
        out.varint(slow.number);
        out.signed_varint(slow.wall);
      }
    }
  }
}

void encode_scaling(const RankRecord& record, Encoder& out) {
  const auto number = [](std::uint8_t metric) { return metric == clustering::no_metric ? 0u : metric + 1u; };
  out.varint(record.mpi_call_columns.size());
  for (const clustering::Column& column : record.mpi_call_columns) {
    out.varint(number(column.scales_with));
    out.varint(number(column.also_scales_with));
  }
}

/// Collects the slopes of a loop by path instead of node, in ascending order of class and path, each path once.
bool collect_slopes(const LoopRecord& loop, Paths paths, std::size_t columns, GrowableArray<SlopeRecord>& rows) {
  rows.clear();
  for (SlopeRecord row : loop.slopes) {
    if (row.node >= paths.size()) continue;
    row.node = paths[row.node];
    if (!rows.push_back(row)) return false;
  }
  std::sort(rows.begin(), rows.end(), [](const SlopeRecord& a, const SlopeRecord& b) {
    return a.class_index != b.class_index ? a.class_index < b.class_index : a.node < b.node;
  });
  std::size_t count = 0;
  for (const SlopeRecord& row : rows) {
    SlopeRecord* last = count > 0 ? &rows[count - 1] : nullptr;
    if (!last || last->class_index != row.class_index || last->node != row.node) {
      rows[count++] = row;
      continue;
    }
    for (std::size_t c = 0; c < columns; ++c) {  // values of one path add up, and so do their slopes
      last->first[c] += row.first[c];
      last->second[c] += row.second[c];
    }
  }
  return rows.resize(count);
}

bool varies(const SlopeRecord& slope, std::size_t column) {
  return slope.first[column] != 0 || slope.second[column] != 0;
}

/// Keeps 12 bits of precision, so that the value compresses. Reconstructed values are scaled to add up anyway.
void encode_slope(float slope, Encoder& out) {
  const auto bits = std::bit_cast<std::uint32_t>(slope);
  constexpr std::uint32_t dropped = 0xfff;
  out.fixed((bits + dropped / 2 + 1) & ~dropped);
}

void encode_loop_slopes(const RankRecord& record, const LoopRecord& loop, Paths paths, GrowableArray<SlopeRecord>& rows,
                        Encoder& out) {
  const std::size_t columns = record.mpi_call_columns.size();
  if (!collect_slopes(loop, paths, columns, rows)) return out.fail();
  std::size_t classes = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) classes += i == 0 || rows[i].class_index != rows[i - 1].class_index;
  out.varint(classes);
  for (std::size_t i = 0, end = 0; i < rows.size(); i = end) {
    while (end < rows.size() && rows[end].class_index == rows[i].class_index) ++end;
    const std::span<const SlopeRecord> of_class = rows.view().subspan(i, end - i);
    out.varint(of_class[0].class_index);
    out.varint(of_class.size());
    std::uint32_t last_path = 0;
    for (const SlopeRecord& row : of_class) {
      std::uint32_t mask = 0;
      for (std::size_t c = 0; c < columns; ++c) mask |= static_cast<std::uint32_t>(varies(row, c)) << c;
      out.varint(row.node - last_path);
      out.varint(mask);
      last_path = row.node;
    }
    for (std::size_t c = 0; c < columns; ++c) {  // one column after the other, so that it compresses
      for (const SlopeRecord& row : of_class)
        if (varies(row, c)) encode_slope(row.first[c], out);
      if (record.mpi_call_columns[c].also_scales_with == clustering::no_metric) continue;
      for (const SlopeRecord& row : of_class)
        if (varies(row, c)) encode_slope(row.second[c], out);
    }
  }
}

void encode_slopes(const RankRecord& record, const Numbers& all_paths, Encoder& out) {
  encode_scaling(record, out);
  GrowableArray<SlopeRecord> rows;
  out.varint(record.locations.size());
  for_each_location(record, all_paths, [&](const LocationRecord& location, Paths paths) {
    out.varint(location.loops.size());
    for (const LoopRecord& loop : location.loops) encode_loop_slopes(record, loop, paths, rows, out);
  });
}

bool has_slopes(const RankRecord& record) {
  const auto loop_has = [](const LoopRecord& loop) { return !loop.slopes.empty(); };
  return !record.mpi_call_columns.empty() && std::ranges::any_of(record.locations, [&](const LocationRecord& location) {
    return std::ranges::any_of(location.loops, loop_has);
  });
}

bool encode_samples(const LoopRecord& loop, Paths paths, platform::Bytes& payload) {
  payload.clear();
  if (loop.samples.empty()) return true;
  Encoder out(payload);
  out.varint(loop.kept.level);
  out.varint(loop.kept.seed);
  out.varint(loop.sampled);
  encode_node_paths(paths, out);
  out.fixed(static_cast<std::uint8_t>(NodeKind::Function));
  out.fixed(static_cast<std::uint8_t>(column_of(measurement::MetricId::Samples)));
  out.varint(loop.references.size());
  for (const std::int32_t reference : loop.references) out.signed_varint(reference);
  out.raw(loop.samples.data(), loop.samples.size());
  return !out.failed();
}

/// Adds the frames that the record takes in, which may be long, and a frame for each piece that has none yet. The
/// frames are compressed, so the section is not.
bool add_iterations(const RankRecord& record, const Numbers& all_paths, BlockBuilder& block) {
  platform::Bytes frames, samples;
  Compressor compressor;
  bool complete = true;
  for_each_location(record, all_paths, [&](const LocationRecord& location, Paths paths) {
    for (std::uint32_t i = 0; i < location.loops.size(); ++i) {
      const LoopRecord& loop = location.loops[i];
      const auto append = [&](format::FrameKind kind, std::span<const std::byte> payload) {
        return append_frame(kind, location.thread, i, payload, compressor, frames);
      };
      complete = complete && append(format::FrameKind::Log, loop.log) &&
                 append(format::FrameKind::Log, loop.log_tail) &&
                 append(format::FrameKind::Merges, std::as_bytes(loop.merges)) &&
                 encode_samples(loop, paths, samples) && append(format::FrameKind::ChosenSamples, samples.view());
    }
  });
  return complete && block.add_raw(format::Section::Iterations, record.early_iterations, frames.view());
}

bool has_loops(const RankRecord& record) {
  return std::ranges::any_of(record.locations, [](const LocationRecord& location) { return !location.loops.empty(); });
}

double ticks_per_second(const RankRecord& record) {
  const double frequency = platform::ticks_per_second(record.first_anchor, record.last_anchor);
  return std::isfinite(frequency) && frequency > 0 ? frequency : 1e9;
}

void encode_process(const RankRecord& record, Encoder& out) {
  out.varint(static_cast<std::uint64_t>(record.rank));
  out.signed_varint(record.process_id);
  out.text(fixed_text(record.host, sizeof record.host));
  out.real(ticks_per_second(record));
  out.signed_varint(record.begin_epoch_ns);
  for (const CalibratedCost& cost : {record.call_cost, record.tick_cost}) {
    out.real(cost.median);
    out.real(cost.low);
    out.real(cost.high);
  }
}

/// Encodes cores as runs.
void encode_cores(const platform::Cores& cores, Encoder& out) {
  constexpr std::size_t most = platform::Cores::most;
  const auto end_of_run = [&](std::size_t at) {
    const bool has = at < most && cores.has(at);
    while (at < most && cores.has(at) == has) ++at;
    return at;
  };
  std::size_t runs = 0;
  for (std::size_t at = 0; at < most; at = end_of_run(at)) runs += cores.has(at);
  out.varint(runs);
  std::size_t before = 0;
  for (std::size_t at = 0; at < most; at = end_of_run(at)) {
    if (!cores.has(at)) continue;
    out.varint(at - before);
    before = end_of_run(at);
    out.varint(before - at);
  }
}

void encode_all_cores(const RankRecord& record, Encoder& out) {
  encode_cores(record.cores_at_begin, out);
  encode_cores(record.cores_at_end, out);
  out.varint(static_cast<std::uint64_t>(record.cpu_quota_in_thousandths));
}

void encode_cores_taken(const RankRecord& record, Encoder& out) {
  for (const std::int64_t ns : {record.throttled_ns, record.taken_ns})
    out.varint(ns < 0 ? 0 : static_cast<std::uint64_t>(ns) + 1);
}

/// Encodes members as runs of equal stride: MPI_COMM_WORLD of any size is one run.
void encode_members(std::span<const std::int32_t> members, Encoder& out) {
  out.varint(members.size());
  for (std::size_t i = 0; i < members.size();) {
    const std::int64_t stride = i + 1 < members.size() ? std::int64_t{members[i + 1]} - members[i] : 0;
    std::size_t end = i + 1;
    while (end < members.size() && std::int64_t{members[end]} - members[end - 1] == stride) ++end;
    out.signed_varint(members[i]);
    out.signed_varint(stride);
    out.varint(end - i);
    i = end;
  }
}

void encode_communicators(const RankRecord& record, Encoder& out) {
  out.varint(record.communicators.size());
  for (const CommunicatorRecord& c : record.communicators) {
    for (std::int32_t value : {c.id, c.parent, c.ordinal, c.leader, c.rank, c.size, c.remote_size})
      out.signed_varint(value);
    out.text(fixed_text(c.name, sizeof c.name));
    encode_members(c.members, out);
  }
}

/// Section 26 is left out if every record stands for one communicator.
bool some_stand_for_many(std::span<const CommunicatorRecord> communicators) {
  return std::ranges::any_of(communicators, [](const CommunicatorRecord& c) { return c.made > 1; });
}
void encode_communicators_made(const RankRecord& record, Encoder& out) {
  out.varint(record.communicators.size());
  for (const CommunicatorRecord& c : record.communicators) out.varint(static_cast<std::uint64_t>(c.made));
}

void encode_windows(const RankRecord& record, Encoder& out) {
  out.varint(record.windows.size());
  for (const WindowRecord& w : record.windows) {
    out.signed_varint(w.communicator);
    out.fixed(static_cast<std::uint8_t>(w.kind));
    out.varint(static_cast<std::uint64_t>(w.made));
    out.text(fixed_text(w.name, sizeof w.name));
  }
  out.varint(record.window_traffic.size());
  for (const WindowTraffic& t : record.window_traffic)
    for (const std::int64_t value :
         {std::int64_t{t.window}, std::int64_t{t.target}, t.puts, t.bytes_put, t.gets, t.bytes_got})
      out.signed_varint(value);
}

void encode_own_times(const RankRecord& record, Encoder& out) {
  out.varint(measurement::own_time_count);
  for (const auto& row : measurement::own_time_table) out.text(row.name);
  out.varint(record.locations.size());
  for (const LocationRecord& location : record.locations)
    for (const auto& of : location.own_times) {
      out.varint(static_cast<std::uint64_t>(of.timed));
      if (of.timed == 0) continue;
      out.real(of.mean);
      out.real(of.error);
    }
}

void encode_metrics(Encoder& out) {
  const auto is_column = [](const format::MetricRow& row) { return row.name != nullptr; };
  out.varint(static_cast<std::uint64_t>(std::ranges::count_if(measurement::metric_table, is_column)) +
             format::total_count);
  const auto put = [&](const char* name, const format::MetricRow& row, NodeKind kind) {
    out.text(name);
    out.text(row.unit);
    out.fixed(static_cast<std::uint8_t>(kind));
    out.fixed(static_cast<std::uint8_t>(row.reduction));
  };
  for (const auto& row : measurement::metric_table)
    if (is_column(row)) put(row.name, row, row.kind);
  for (const auto& column : format::total_columns) {
    const auto& row = format::row_of(column.metric);
    put(row.total_name, row, NodeKind::Root);
  }
}

void encode_losses(Encoder& out) {
  out.varint(measurement::loss_count);
  for (const auto& loss : measurement::loss_table) out.text(loss.name);
}

/// Adds the output of `encode(encoder)` as a section. False: no memory.
template <class Encode>
bool add_section(BlockBuilder& block, format::Section type, Encode encode) {
  platform::Bytes payload;
  Encoder encoder(payload);
  encode(encoder);
  return !encoder.failed() && block.add(type, payload);
}

}  // namespace

bool encode_rank(const RankRecord& record, DefinitionSet& definitions, BlockBuilder& block) {
  using format::Section;
  Numbers paths;
  if (!definitions.create() || !resolve_paths(record, definitions, paths)) return false;
  bool good = true;
  const auto add = [&](Section type, void (*encode)(const RankRecord&, Encoder&)) {
    good = good && add_section(block, type, [&](Encoder& out) { encode(record, out); });
  };
  const auto add_by_path = [&](Section type, void (*encode)(const RankRecord&, const Numbers&, Encoder&)) {
    good = good && add_section(block, type, [&](Encoder& out) { encode(record, paths, out); });
  };
  add(Section::Rank, encode_process);
  add_by_path(Section::Locations, encode_locations);
  good = good && add_section(block, Section::Totals, [&](Encoder& out) {
           encode_totals(record, paths, definitions.paths(), ticks_per_second(record), out);
         });
  add(Section::Cores, encode_all_cores);
  add(Section::CoresTaken, encode_cores_taken);
  add(Section::OwnTimes, encode_own_times);
  add(Section::Communicators, encode_communicators);
  if (some_stand_for_many(record.communicators)) add(Section::CommunicatorsMade, encode_communicators_made);
  if (!record.windows.empty()) add(Section::Windows, encode_windows);
  if (!record.extra_metrics.empty()) add_by_path(Section::Extra, encode_extra);
  if (has_durations(record)) add_by_path(Section::Durations, encode_durations);
  if (record.event_mode != format::EventMode::Off) add_by_path(Section::Events, encode_events);
  if (has_sampled_messages(record)) add(Section::SampledMessages, encode_sampled_messages);
  if (!record.event_frames.empty()) good = good && block.add_raw(Section::EventFrames, record.event_frames);
  if (has_loops(record)) {
    add(Section::Loops, encode_loops);
    add(Section::SingleIterations, encode_single_iterations);
    good = good && add_iterations(record, paths, block);
  }
  if (has_slopes(record)) add_by_path(Section::Slopes, encode_slopes);
  return good;
}

bool add_path_mapping(std::span<const std::uint32_t> unified, BlockBuilder& block) {
  platform::Bytes bytes;
  Encoder out(bytes);
  for (std::uint32_t number : unified) out.fixed(number);
  return !out.failed() && block.add_raw(format::Section::PathMapping, bytes.view());
}

bool encode_definitions(const DefinitionSet& definitions, BlockBuilder& block) {
  using format::Section;
  return add_section(block, Section::Writer, [](Encoder& out) { out.text(REFRAIN_VERSION); }) &&
         add_section(block, Section::Metrics, encode_metrics) && add_section(block, Section::Losses, encode_losses) &&
         add_section(block, Section::Regions, [&](Encoder& out) { definitions.encode_regions(out); }) &&
         add_section(block, Section::Modules, [&](Encoder& out) { definitions.encode_modules(out); }) &&
         add_section(block, Section::Paths, [&](Encoder& out) { definitions.encode_paths(out); });
}

}  // namespace refrain::record
