#include "archive/rank_encoder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "archive/iteration_frames.hpp"
#include "archive/module_lookup.hpp"
#include "config/line.hpp"
#include "measurement/iterations.hpp"

namespace refrain::archive {

namespace {

using Numbers = GrowableArray<std::uint32_t>;

std::string_view fixed_text(const char* text, std::size_t size) { return {text, strnlen(text, size)}; }

/// Gives the nodes of one location their numbers in the rank's tree.
class NodeResolver {
 public:
  NodeResolver(const RankRecord& record, DefinitionSet& definitions) : record_(record), definitions_(definitions) {}

  bool create() {
    if (!lookup_.create(record_.modules) || !module_numbers_.resize(record_.modules.size()) ||
        !region_numbers_.resize(record_.region_names.size()))
      return false;
    for (auto& number : module_numbers_) number = DefinitionSet::none;
    for (auto& number : region_numbers_) number = DefinitionSet::none;
    return true;
  }

  bool resolve(std::span<const NodeRecord> nodes, Numbers& paths) {
    if (!paths.resize(nodes.size())) return false;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const NodeRecord& node = nodes[i];
      if (i == 0 || node.kind == NodeKind::Root) {
        paths[i] = 0;
        continue;
      }
      PathDefinition path{node.key, node.parent < i ? paths[node.parent] : 0, -1, node.kind};
      if (format::is_address(node.kind) && !place(node, path)) return false;
      if (format::is_named(node.kind) && !name(path)) return false;
      if ((paths[i] = definitions_.path(path)) == DefinitionSet::none) return false;
    }
    return true;
  }

 private:
  bool place(const NodeRecord& node, PathDefinition& path) {
    // A return address may be one past the end of its function and of its module: the call is before it.
    const std::uint64_t inside = node.kind == NodeKind::Frame && node.key != 0 ? node.key - 1 : node.key;
    const int found = lookup_.find(inside, node.generation);
    if (found < 0) return true;
    const platform::Module& m = record_.modules[static_cast<std::size_t>(found)];
    std::uint32_t& number = module_numbers_[static_cast<std::size_t>(found)];
    if (number == DefinitionSet::none)
      number = definitions_.module(fixed_text(m.path, sizeof m.path), {m.build_id, m.build_id_size});
    path.module = static_cast<std::int32_t>(number);
    path.offset = node.key - m.base;
    return number != DefinitionSet::none;
  }

  bool name(PathDefinition& path) {
    if (path.offset >= region_numbers_.size()) {
      char text[32];
      config::Line(text, sizeof text) << "(region " << static_cast<std::int64_t>(path.offset) << ")";
      path.offset = definitions_.region(text);
    } else {
      std::uint32_t& number = region_numbers_[path.offset];
      if (number == DefinitionSet::none) number = definitions_.region(record_.region_names[path.offset]);
      path.offset = number;
    }
    return path.offset != DefinitionSet::none;
  }

  const RankRecord& record_;
  DefinitionSet& definitions_;
  ModuleLookup lookup_;
  Numbers module_numbers_;
  Numbers region_numbers_;
};

struct Row {
  std::uint32_t path;
  NodeKind kind;
  const std::int64_t* values;
};

std::int64_t combine(measurement::Reduction reduction, std::int64_t a, std::int64_t b) {
  switch (reduction) {
    case measurement::Reduction::Min: return std::min(a, b);
    case measurement::Reduction::Max: return std::max(a, b);
    case measurement::Reduction::Sum: break;
  }
  return a + b;
}

/// The rows of one path as one: [first, last) have the same path.
void combine_rows(const Row* first, const Row* last, std::int64_t (&out)[measurement::metric_count]) {
  std::copy_n(first->values, measurement::columns_of(first->kind), out);
  for (const Row* row = first + 1; row < last; ++row) {
    std::size_t column = 0;
    for (const auto& metric : measurement::metric_table) {
      if (metric.kind != first->kind) continue;
      out[column] = combine(metric.reduction, out[column], row->values[column]);
      ++column;
    }
  }
}

bool encode_unit(const UnitRecord& unit, const LocationRecord& location, const Numbers& paths, GrowableArray<Row>& rows,
                 Encoder& out) {
  out.signed_varint(unit.loop);
  out.signed_varint(unit.cluster);
  for (const auto total : measurement::unit_total_table) out.signed_varint(unit.*total);
  out.real(unit.weight_user_squared);

  rows.clear();
  for (const ValueRecord& value : unit.values) {
    if (value.node >= location.nodes.size() || value.values == nullptr) continue;
    const NodeKind kind = location.nodes[value.node].kind;
    const std::size_t columns = measurement::columns_of(kind);
    if (std::all_of(value.values, value.values + columns, [](std::int64_t v) { return v == 0; })) continue;
    if (!rows.push_back({paths[value.node], kind, value.values})) return false;
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.path < b.path; });
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) distinct += i == 0 || rows[i].path != rows[i - 1].path;

  out.varint(distinct);
  std::uint32_t last_path = 0;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t end = i + 1;
    while (end < rows.size() && rows[end].path == rows[i].path) ++end;
    std::int64_t values[measurement::metric_count];
    combine_rows(&rows[i], rows.begin() + end, values);
    out.varint(rows[i].path - last_path);
    for (std::size_t c = 0; c < measurement::columns_of(rows[i].kind); ++c) out.signed_varint(values[c]);
    last_path = rows[i].path;
    i = end;
  }
  return true;
}

bool encode_locations(const RankRecord& record, DefinitionSet& definitions, Encoder& out) {
  NodeResolver resolver(record, definitions);
  if (!resolver.create()) return false;
  GrowableArray<Row> rows;
  Numbers paths;
  out.varint(std::size(measurement::unit_total_table));  // later versions append
  out.varint(record.locations.size());
  for (const LocationRecord& location : record.locations) {
    paths.clear();
    if (!resolver.resolve(location.nodes, paths)) return false;
    out.signed_varint(location.thread);
    out.signed_varint(location.os_thread_id);
    out.text(fixed_text(location.name, sizeof location.name));
    out.signed_varint(location.begin);
    out.signed_varint(location.end);
    out.signed_varint(location.arena_bytes);
    out.varint(measurement::loss_count);
    for (std::int64_t count : location.losses) out.signed_varint(count);
    out.varint(location.units.size());
    for (const UnitRecord& unit : location.units)
      if (!encode_unit(unit, location, paths, rows, out)) return false;
  }
  return !out.failed();
}

void encode_overall_metrics(Encoder& out) {
  out.varint(measurement::overall_count);
  for (const auto& metric : measurement::overall_table) {
    out.text(metric.name);
    out.text(metric.unit);
    out.fixed(static_cast<std::uint8_t>(metric.precision));
  }
}

void encode_cluster(const ClusterRecord& c, Encoder& out) {
  out.varint(c.label);
  out.varint(c.class_index);
  out.fixed(static_cast<std::uint8_t>(c.overflow));
  for (const std::int64_t value : {c.members, c.first, c.last, c.exemplar})
    out.varint(static_cast<std::uint64_t>(value));
  for (std::size_t i = 0; i < measurement::overall_count; ++i) {
    out.signed_varint(c.minimum[i]);
    out.signed_varint(c.maximum[i]);
    out.real(c.squares[i]);
  }
}

bool encode_loops(const RankRecord& record, Encoder& out) {
  encode_overall_metrics(out);
  out.varint(record.spilled_bytes);
  out.varint(record.locations.size());
  for (const LocationRecord& location : record.locations) {
    out.varint(location.loops.size());
    for (const LoopRecord& loop : location.loops) {
      out.text(loop.name);
      out.varint(static_cast<std::uint64_t>(loop.iterations));
      out.varint(loop.clusters.size());
      for (const ClusterRecord& cluster : loop.clusters) encode_cluster(cluster, out);
    }
  }
  return !out.failed();
}

/// The frames that the record takes in, and one for each piece that has no frame yet. Frames are compressed, the
/// section is not.
bool add_iterations(const RankRecord& record, BlockBuilder& block) {
  platform::Bytes frames;
  Compressor compressor;
  if (!frames.append(record.early_iterations.data(), record.early_iterations.size())) return false;
  for (const LocationRecord& location : record.locations)
    for (std::size_t i = 0; i < location.loops.size(); ++i) {
      const LoopRecord& loop = location.loops[i];
      const auto append = [&](format::FrameKind kind, std::span<const std::byte> payload) {
        return append_frame(kind, location.thread, static_cast<std::uint32_t>(i), payload, compressor, frames);
      };
      if (!append(format::FrameKind::Log, loop.log) || !append(format::FrameKind::Log, loop.log_tail) ||
          !append(format::FrameKind::Merges, std::as_bytes(loop.merges)))
        return false;
    }
  return block.add_raw(format::Section::Iterations, frames.data(), frames.size());
}

bool has_loops(const RankRecord& record) {
  return std::any_of(record.locations.begin(), record.locations.end(),
                     [](const LocationRecord& location) { return !location.loops.empty(); });
}

bool encode_process(const RankRecord& record, Encoder& out) {
  double frequency = platform::ticks_per_second(record.first_anchor, record.last_anchor);
  if (!std::isfinite(frequency) || frequency <= 0) frequency = 1e9;
  out.varint(static_cast<std::uint64_t>(record.rank));
  out.signed_varint(record.process_id);
  out.text(fixed_text(record.host, sizeof record.host));
  out.real(frequency);
  out.signed_varint(record.begin_epoch_ns);
  for (const CalibratedCost& cost : {record.call_cost, record.tick_cost}) {
    out.real(cost.median);
    out.real(cost.low);
    out.real(cost.high);
  }
  return !out.failed();
}

/// Members as runs of equal stride: MPI_COMM_WORLD of any size is one run.
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

bool encode_communicators(const RankRecord& record, Encoder& out) {
  out.varint(record.communicators.size());
  for (const CommunicatorRecord& c : record.communicators) {
    for (std::int32_t value : {c.id, c.parent, c.ordinal, c.leader, c.rank, c.size, c.remote_size})
      out.signed_varint(value);
    out.text(fixed_text(c.name, sizeof c.name));
    encode_members(c.members, out);
  }
  return !out.failed();
}

void encode_metrics(Encoder& out) {
  out.varint(measurement::metric_count);
  for (const auto& metric : measurement::metric_table) {
    out.text(metric.name);
    out.text(metric.unit);
    out.fixed(static_cast<std::uint8_t>(metric.kind));
    out.fixed(static_cast<std::uint8_t>(metric.reduction));
  }
}

void encode_losses(Encoder& out) {
  out.varint(measurement::loss_count);
  for (const auto& loss : measurement::loss_table) out.text(loss.name);
}

/// Encodes with `encode(encoder)` and adds the result as a section; `encode` may say false when it has no memory.
template <class Encode>
bool add_section(BlockBuilder& block, format::Section type, Encode encode) {
  platform::Bytes payload;
  Encoder encoder(payload);
  return encode(encoder) && !encoder.failed() && block.add(type, payload);
}

}  // namespace

bool encode_rank(const RankRecord& record, DefinitionSet& definitions, BlockBuilder& block) {
  using format::Section;
  return definitions.create() &&
         add_section(block, Section::Rank, [&](Encoder& out) { return encode_process(record, out); }) &&
         add_section(block, Section::Locations,
                     [&](Encoder& out) { return encode_locations(record, definitions, out); }) &&
         add_section(block, Section::Communicators, [&](Encoder& out) { return encode_communicators(record, out); }) &&
         (!has_loops(record) ||
          (add_section(block, Section::Loops, [&](Encoder& out) { return encode_loops(record, out); }) &&
           add_iterations(record, block)));
}

bool add_path_mapping(std::span<const std::uint32_t> unified, BlockBuilder& block) {
  platform::Bytes bytes;
  Encoder out(bytes);
  for (std::uint32_t number : unified) out.fixed(number);
  return !out.failed() && block.add_raw(format::Section::PathMapping, bytes.data(), bytes.size());
}

bool encode_definitions(const DefinitionSet& definitions, BlockBuilder& block) {
  using format::Section;
  return add_section(block, Section::Writer, [](Encoder& out) { return out.text(REFRAIN_VERSION), true; }) &&
         add_section(block, Section::Metrics, [](Encoder& out) { return encode_metrics(out), true; }) &&
         add_section(block, Section::Losses, [](Encoder& out) { return encode_losses(out), true; }) &&
         add_section(block, Section::Regions, [&](Encoder& out) { return definitions.encode_regions(out), true; }) &&
         add_section(block, Section::Modules, [&](Encoder& out) { return definitions.encode_modules(out), true; }) &&
         add_section(block, Section::Paths, [&](Encoder& out) { return definitions.encode_paths(out), true; });
}

}  // namespace refrain::archive
