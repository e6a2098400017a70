#include "offline/patterns/estimate.hpp"

#include <algorithm>
#include <cmath>

#include "format/kept_iterations.hpp"
#include "offline/analysis/iterations.hpp"
#include "offline/analysis/run_totals.hpp"
#include "offline/analysis/time_rules.hpp"

namespace refrain::patterns {

Estimate::Estimate(const trace::Trace& trace, const Naming& naming, const OutputsOf& outputs_of, std::size_t outputs)
    : trace_(trace),
      naming_(naming),
      outputs_of_(outputs_of),
      values_(outputs),
      residuals_(outputs),
      node_residuals_(outputs),
      location_variance_(outputs) {}

double Estimate::Residuals::variance() const {
  double sum = 0;
  for (const auto& [iteration, residual] : of) sum += residual * residual;
  return sum;
}

std::uint32_t Estimate::iteration_index(std::uint16_t loop, std::int64_t number) {
  return iterations_.try_emplace({loop, number}, static_cast<std::uint32_t>(iterations_.size())).first->second;
}

void Estimate::add_value(std::uint32_t output, std::uint32_t path, std::uint32_t location, double ns) {
  const std::uint32_t node = path == trace::no_path ? 0 : naming_.node_of(path);
  values_[output][{node, location}] += ns;
}

/// A location of a sample.
struct Estimate::Location {
  std::uint32_t number;
  const Findings::OfLocation& found;
  const experiment::Rank& rank;
  const experiment::Location& profile;
  std::vector<std::size_t> first_row;  ///< by span, and the end
  const std::vector<experiment::CallPath>& paths;
  double ns_per_tick;

  Location(std::uint32_t number_, const Findings::OfLocation& found_, const experiment::Rank& rank_,
           const experiment::Location& profile_, const std::vector<experiment::CallPath>& paths_)
      : number(number_),
        found(found_),
        rank(rank_),
        profile(profile_),
        first_row(found_.spans.size() + 2, 0),
        paths(paths_),
        ns_per_tick(1e9 / rank_.ticks_per_second) {
    std::size_t row = 0;
    for (std::size_t span = 0; span + 1 < first_row.size(); ++span) {
      first_row[span] = row;
      while (row < found.rows.size() && found.rows[row].span == span) ++row;
    }
    first_row.back() = row;
  }
  std::span<const Findings::Row> rows(std::uint32_t span) const {
    return {found.rows.data() + first_row[span], first_row[span + 1] - first_row[span]};
  }
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint32_t cell(std::uint32_t path) const {
    const std::size_t place = std::size_t{path} + 1;
    const std::uint32_t at = place < found.cell_of_path.size() ? found.cell_of_path[place] : 0;
    return at == 0 ? none : at - 1;
  }
  /// Time in MPI of a unit: takes the call path and nanoseconds.
  template <class Take>
  void for_each_mpi_path(const experiment::Unit& unit, const Take& take) const {
    for (const experiment::PathValues& row : unit.values) {
      const format::NodeKind kind = paths[row.path].kind;
      if (kind != format::NodeKind::Region) continue;
      take(row.path, static_cast<double>(analysis::value_of(unit, row, kind, format::MetricId::Time)) * ns_per_tick);
    }
  }
};

void Estimate::add_exact(std::uint32_t location, const Findings::OfLocation& found,
                         const std::function<bool(const SpanEnd*)>& is_wanted) {
  const auto add = [&](Quantity quantity, std::uint32_t path, std::int64_t ns) {
    for (const std::uint32_t output : outputs_of_[quantity]) add_value(output, path, location, static_cast<double>(ns));
  };
  if (!is_wanted) {
    for (const Findings::Cell& cell : found.cells)
      for (const Findings::Value& value : cell.values) add(value.quantity, cell.path, value.ns);
    return;
  }
  for (const Findings::Row& row : found.rows)
    if (is_wanted(row.span < found.spans.size() ? &found.spans[row.span] : nullptr))
      add(row.quantity, found.cells[row.cell].path, row.ns);
}

void Estimate::add_census(std::uint32_t location, const Location& of, std::uint32_t span) {
  for (const Findings::Row& row : of.rows(span))
    for (const std::uint32_t output : outputs_of_[row.quantity])
      add_value(output, of.found.cells[row.cell].path, location, static_cast<double>(row.ns));
}

namespace {

constexpr std::size_t least_kept = 5;
/// Of the time of all kept members: one with more decides the ratio alone, and nobody knows how much others differ.
constexpr double largest_share = 0.95;
bool is_time(Quantity quantity) { return quantity < trace::call_classes; }

}  // namespace

/// What a call path has in a block.
struct Estimate::Scaled {
  double scale = 0;                  ///< exact time to that of the kept members
  double time = 0;                   ///< of the kept members, each with its weight
  std::map<Quantity, double> ratio;  ///< to the time, by kept members
};

/// The ratio of each quantity at each call path.
void Estimate::add_block(const Location& of, Block& block) {
  struct Sums {
    double time = 0;
    std::map<Quantity, double> of;
  };
  std::unordered_map<std::uint32_t, Sums> sums;  // by cell, weighted
  for (const Stratum& stratum : block.strata) {
    if (stratum.kept.empty()) continue;
    const double weight = stratum.count / static_cast<double>(stratum.kept.size());
    for (const std::uint32_t span : stratum.kept)
      for (const Findings::Row& row : of.rows(span)) {
        Sums& to = sums[row.cell];
        to.of[row.quantity] += weight * static_cast<double>(row.ns);
        if (is_time(row.quantity)) to.time += weight * static_cast<double>(row.ns);
      }
  }
  std::unordered_map<std::uint32_t, Scaled> scaled;
  for (const auto& [cell, of_cell] : sums) {
    if (of_cell.time <= 0) continue;
    const auto exact = block.time_ns.find(cell);
    Scaled& to = scaled[cell];
    to.scale = exact == block.time_ns.end() ? 1 : exact->second / of_cell.time;
    to.time = of_cell.time;
    for (const auto& [quantity, sum] : of_cell.of) {
      to.ratio[quantity] = sum / of_cell.time;
      for (const std::uint32_t output : outputs_of_[quantity])
        add_value(output, of.found.cells[cell].path, of.number, sum * to.scale);
    }
  }
  for (const auto& [cell, time_ns] : block.time_ns)
    if (!scaled.contains(cell)) not_covered_ns_ += std::max(time_ns, 0.0);

  for (const Stratum& stratum : block.strata) add_errors(of, stratum, scaled);
  for (const auto& [cell, of_cell] : scaled) add_doubt(of, cell, of_cell);
}

/// The members have more time than the kept ones make of it: it is in long ones, none of which was kept. What share of
/// that is waiting nobody knows: any is as likely.
void Estimate::add_doubt(const Location& of, std::uint32_t cell, const Scaled& scaled) {
  const double deviation = (scaled.scale - 1) * scaled.time / std::sqrt(12.0);
  if (deviation <= 0) return;
  const std::uint32_t path = of.found.cells[cell].path, node = path == trace::no_path ? 0 : naming_.node_of(path);
  const std::uint32_t of_this = ~doubts_++;  // behind all iterations
  for (const auto& [quantity, ratio] : scaled.ratio) {
    if (is_time(quantity)) continue;
    for (const std::uint32_t output : outputs_of_[quantity]) {
      residuals_[output].of[of_this] += deviation;
      node_residuals_[output][node].of[of_this] += deviation;
      location_variance_[output][of.number] += deviation * deviation;
    }
  }
}

/// What kept members differ from the ratio by. A member with much of the time draws the ratio to itself: so each is
/// compared with the ratio of the others, as by the jackknife (Cochran, chapter 6.17).
void Estimate::add_errors(const Location& of, const Stratum& stratum,
                          const std::unordered_map<std::uint32_t, Scaled>& scaled) {
  const auto n = static_cast<double>(stratum.kept.size());
  if (n < 1 || stratum.count <= n) return;
  // Of a single member nobody knows how much others differ: by as much as it has.
  const bool is_single = n < 2;
  const double weight = stratum.count / n;
  const double factor = is_single ? stratum.count : weight * std::sqrt((1 - n / stratum.count) * n / (n - 1));
  // With one ratio for all strata the members of one may all differ to the same side: that is no chance.
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> mean;  // by output and node
  struct Residual {
    std::uint32_t iteration, output, node;
    double value;
  };
  std::vector<Residual> residuals;
  for (const std::uint32_t span : stratum.kept) {
    const SpanEnd& end = of.found.spans[span];
    const std::uint32_t iteration = iteration_index(end.loop, end.number);
    const auto rows = of.rows(span);
    for (std::size_t begin = 0; begin < rows.size();) {
      std::size_t behind = begin;
      double time = 0;
      for (; behind < rows.size() && rows[behind].cell == rows[begin].cell; ++behind)
        if (is_time(rows[behind].quantity)) time += static_cast<double>(rows[behind].ns);
      const auto at = scaled.find(rows[begin].cell);
      if (at != scaled.end()) {
        const std::uint32_t path = of.found.cells[rows[begin].cell].path;
        const std::uint32_t node = path == trace::no_path ? 0 : naming_.node_of(path);
        for (const auto& [quantity, ratio] : at->second.ratio) {
          double value = 0;
          for (std::size_t i = begin; i < behind; ++i)
            if (rows[i].quantity == quantity) value = static_cast<double>(rows[i].ns);
          const double share = weight * time / at->second.time;
          if (share > largest_share && is_time(quantity)) continue;  // all of it is known
          const bool is_alone = (is_single || share > largest_share) && !is_time(quantity);
          const double expected = is_alone ? 0 : ratio * time;
          const double residual = at->second.scale * factor * (value - expected) / (is_alone ? 1 : 1 - share);
          if (std::abs(residual) < 1e-3) continue;
          for (const std::uint32_t output : outputs_of_[quantity]) {
            residuals.push_back({iteration, output, node, residual});
            if (!is_single) mean[{output, node}] += residual / n;
          }
        }
      }
      begin = behind;
    }
  }
  for (auto& [key, value] : mean)
    if (std::abs(value) < 1e-3) value = 0;
  std::map<std::uint32_t, std::map<std::uint32_t, double>> of_location;  // by output, by iteration
  const auto take = [&](std::uint32_t iteration, std::uint32_t output, std::uint32_t node, double value) {
    residuals_[output].of[iteration] += value;
    node_residuals_[output][node].of[iteration] += value;
    of_location[output][iteration] += value;
  };
  for (const Residual& r : residuals) take(r.iteration, r.output, r.node, r.value);
  for (const auto& [key, value] : mean)
    if (value != 0)
      for (const std::uint32_t span : stratum.kept)
        take(iteration_index(of.found.spans[span].loop, of.found.spans[span].number), key.first, key.second, -value);
  for (const auto& [output, by_iteration] : of_location)
    for (const auto& [iteration, value] : by_iteration) location_variance_[output][of.number] += value * value;
}

/// Strata with few kept members go to those whose members spend the most similar time in MPI.
void Estimate::merge_small(std::vector<Block>& blocks) {
  const auto mean = [](const Block& of) {
    return of.strata[0].count > 0 ? of.strata[0].time_ns / of.strata[0].count : 0;
  };
  while (blocks.size() > 1) {
    const auto small = std::ranges::min_element(blocks, {}, [](const Block& of) { return of.strata[0].kept.size(); });
    const Stratum& few = small->strata[0];
    // What is there whole needs no others.
    if (few.kept.size() >= least_kept) break;
    auto nearest = blocks.end();
    for (auto at = blocks.begin(); at != blocks.end(); ++at)
      if (at != small &&
          (nearest == blocks.end() || std::abs(mean(*at) - mean(*small)) < std::abs(mean(*nearest) - mean(*small))))
        nearest = at;
    for (const auto& [cell, ns] : small->time_ns) nearest->time_ns[cell] += ns;
    Stratum& to = nearest->strata[0];
    to.count += few.count;
    to.time_ns += few.time_ns;
    to.kept.insert(to.kept.end(), few.kept.begin(), few.kept.end());
    ++merged_strata_;
    blocks.erase(small);
  }
}

/// Which spans of a location stand for themselves, and which for others.
struct Estimate::Parts {
  std::vector<std::uint32_t> census;
  std::map<std::uint16_t, std::vector<std::uint32_t>> sampled;  ///< iterations or stretches, by loop
  std::vector<std::uint32_t> outside;                           ///< of iterations, where only some was recorded
};

Estimate::Parts Estimate::parts_of(const Findings::OfLocation& found, const std::vector<std::string>& loops) const {
  const auto level_outside = trace_.levels().find("");
  const bool is_outside_whole = level_outside == trace_.levels().end() || level_outside->second == 0;
  Parts parts;
  for (std::uint32_t span = 0; span < found.spans.size(); ++span) {
    const SpanEnd& end = found.spans[span];
    const std::string& loop = loops[end.loop];
    if (loop.empty()) {
      (is_outside_whole ? parts.census : parts.outside).push_back(span);
      continue;
    }
    if (!end.is_whole) continue;
    if (trace_.is_slow_on_all(loop, end.number)) parts.census.push_back(span);
    else if (trace_.is_sampled(loop, end.number)) parts.sampled[end.loop].push_back(span);
  }
  parts.census.push_back(static_cast<std::uint32_t>(found.spans.size()));  // after the last one
  return parts;
}

void Estimate::add_time_in_mpi(const Location& of, const experiment::Unit& unit, Block& block) {
  of.for_each_mpi_path(unit, [&](std::uint32_t path, double ns) {
    if (const std::uint32_t cell = of.cell(path); cell != Location::none) block.time_ns[cell] += ns;
    else not_covered_ns_ += ns;
  });
}

/// What stands for itself has used that up.
void Estimate::take_out(const Location& of, std::uint32_t span, Block& block) {
  for (const Findings::Row& row : of.rows(span)) {
    if (!is_time(row.quantity)) continue;
    if (const auto at = block.time_ns.find(row.cell); at != block.time_ns.end())
      at->second = std::max(at->second - static_cast<double>(row.ns), 0.0);
  }
}

void Estimate::add_sampled(std::uint32_t location, const Findings::OfLocation& found,
                           const std::vector<std::string>& loops, const experiment::Rank& rank) {
  const std::int32_t thread = trace_.locations()[location].thread;
  const auto profile = std::ranges::find(rank.locations, thread, &experiment::Location::thread);
  if (profile == rank.locations.end()) return add_exact(location, found, {});
  const Location of(location, found, rank, *profile, trace_.experiment().definitions().paths);
  const Parts parts = parts_of(found, loops);
  for (const std::uint32_t span : parts.census) add_census(location, of, span);
  if (trace_.has_stretches()) return add_stretches(of, parts);
  for (const auto& [loop, spans] : parts.sampled) add_loop(of, loop, loops[loop], parts);
  if (parts.outside.empty()) count_not_covered_outside(of, parts);
  else add_outside(of, parts);
}

/// One block: of the classes only the numbers are known.
void Estimate::add_stretches(const Location& of, const Parts& parts) {
  Block block;
  for (const experiment::Unit& unit : of.profile.units) add_time_in_mpi(of, unit, block);
  for (const std::uint32_t span : parts.census) take_out(of, span, block);

  using Class = std::pair<std::uint32_t, std::uint32_t>;  // the call paths that opened and closed it
  const auto class_of = [&](std::uint32_t span) {
    return Class{of.found.spans[span].opened, of.found.spans[span].closed};
  };
  std::map<Class, double> counts;
  double all = 0;
  for (const experiment::EventsOfRank::StretchClass& of_class : of.rank.events->stretch_classes) {
    counts[{of_class.opened, of_class.closed}] += static_cast<double>(of_class.count);
    all += static_cast<double>(of_class.count);
  }
  for (const std::uint32_t span : parts.census)
    if (span < of.found.spans.size() && of.found.spans[span].loop != 0) {
      counts[class_of(span)] -= 1;
      all -= 1;
    }
  std::map<Class, Stratum> classes;
  for (const auto& [loop, spans] : parts.sampled)
    for (const std::uint32_t span : spans) classes[class_of(span)].kept.push_back(span);

  Stratum few;  // classes with few kept members, and those with none
  for (auto& [key, stratum] : classes) {
    const auto kept = static_cast<double>(stratum.kept.size());
    const auto count = counts.find(key);
    stratum.count = count == counts.end() ? 0 : std::max(count->second, kept);
    if (count != counts.end()) all -= stratum.count;
    const bool is_small = stratum.kept.size() < least_kept && stratum.count > kept;
    if (!is_small && stratum.count > 0) {
      block.strata.push_back(std::move(stratum));
      continue;
    }
    few.kept.insert(few.kept.end(), stratum.kept.begin(), stratum.kept.end());
    few.count += stratum.count;
    if (is_small) ++merged_strata_;
  }
  if (!few.kept.empty()) {
    few.count = std::max(few.count + std::max(all, 0.0), static_cast<double>(few.kept.size()));
    block.strata.push_back(std::move(few));
  }
  add_block(of, block);
}

/// A block for each cluster of its iterations.
void Estimate::add_loop(const Location& of, std::uint16_t loop_index, const std::string& name, const Parts& parts) {
  const std::vector<std::uint32_t>& spans = parts.sampled.at(loop_index);
  const auto loop = std::ranges::find(of.profile.loops, name, &experiment::Loop::name);
  if (loop == of.profile.loops.end()) {
    for (const std::uint32_t span : spans) add_census(of.number, of, span);
    return;
  }
  std::map<std::int32_t, Block> by_cluster;
  for (const experiment::Unit& unit : of.profile.units) {
    if (unit.loop != loop - of.profile.loops.begin()) continue;
    Block& block = by_cluster[unit.cluster];
    if (block.strata.empty()) block.strata.emplace_back();
    of.for_each_mpi_path(unit, [&](std::uint32_t, double ns) { block.strata[0].time_ns += ns; });
    add_time_in_mpi(of, unit, block);
    if (unit.cluster >= 0 && static_cast<std::size_t>(unit.cluster) < loop->clusters.size())
      block.strata[0].count = static_cast<double>(loop->clusters[static_cast<std::size_t>(unit.cluster)].members);
  }

  std::map<std::int64_t, std::uint32_t> sampled, census;  // spans by iteration
  for (const std::uint32_t span : spans) sampled[of.found.spans[span].number] = span;
  for (const std::uint32_t span : parts.census)
    if (span < of.found.spans.size() && of.found.spans[span].loop == loop_index)
      census[of.found.spans[span].number] = span;
  analysis::for_each_iteration(*loop, [&](std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t>) {
    const auto block = by_cluster.find(cluster);
    if (block == by_cluster.end()) return;
    Stratum& stratum = block->second.strata[0];
    if (const auto at = sampled.find(iteration); at != sampled.end()) stratum.kept.push_back(at->second);
    if (const auto at = census.find(iteration); at != census.end()) {
      stratum.count -= 1;
      for (const Findings::Row& row : of.rows(at->second))
        if (is_time(row.quantity)) stratum.time_ns -= static_cast<double>(row.ns);
      take_out(of, at->second, block->second);
    }
  });

  std::vector<Block> rest;
  for (auto& [cluster, block] : by_cluster) {
    Stratum& stratum = block.strata[0];
    const auto kept = static_cast<double>(stratum.kept.size());
    stratum.count = std::max(stratum.count, kept);
    if (stratum.count <= 0) continue;
    if (kept >= stratum.count) add_block(of, block);  // all of its members were kept
    else rest.push_back(std::move(block));
  }
  merge_small(rest);
  for (Block& block : rest) add_block(of, block);
}

/// Time outside of iterations, of which one in 2^level stretches was recorded.
void Estimate::add_outside(const Location& of, const Parts& parts) {
  Block block;
  block.strata.emplace_back();
  block.strata[0].kept = parts.outside;
  block.strata[0].count =
      static_cast<double>(parts.outside.size()) * static_cast<double>(std::uint64_t{1} << trace_.levels().at(""));
  for (const experiment::Unit& unit : of.profile.units)
    if (unit.loop < 0)
      of.for_each_mpi_path(unit, [&](std::uint32_t path, double ns) {
        if (const std::uint32_t cell = of.cell(path); cell != Location::none) block.time_ns[cell] += ns;
      });
  add_block(of, block);
}

/// Time outside of iterations stands for itself; what was not recorded of it is missing.
void Estimate::count_not_covered_outside(const Location& of, const Parts& parts) {
  std::unordered_map<std::uint32_t, double> rest;  // by cell
  for (const experiment::Unit& unit : of.profile.units)
    if (unit.loop < 0) of.for_each_mpi_path(unit, [&](std::uint32_t path, double ns) { rest[of.cell(path)] += ns; });
  for (const std::uint32_t span : parts.census)
    if (span >= of.found.spans.size() || of.found.spans[span].loop == 0)
      for (const Findings::Row& row : of.rows(span))
        if (is_time(row.quantity)) rest[row.cell] -= static_cast<double>(row.ns);
  for (const auto& [cell, ns] : rest) not_covered_ns_ += std::max(ns, 0.0);
}

void Estimate::finish(std::vector<PatternResult>& outputs,
                      const std::function<bool(std::uint32_t node)>& is_wanted) const {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    PatternResult& to = outputs[i];
    std::map<std::uint32_t, double> by_node, by_location;
    for (const auto& [key, ns] : values_[i]) {
      if (is_wanted && !is_wanted(key.first)) continue;
      to.all.ns += ns;
      by_node[key.first] += ns;
      by_location[key.second] += ns;
      to.cells.push_back({key.first, key.second, ns});
    }
    to.all.error_ns = std::sqrt(residuals_[i].variance());
    for (const auto& [node, ns] : by_node) {
      const auto residuals = node_residuals_[i].find(node);
      to.by_node.push_back(
          {node, {ns, residuals == node_residuals_[i].end() ? 0 : std::sqrt(residuals->second.variance())}});
    }
    for (const auto& [location, ns] : by_location) {
      const auto variance = location_variance_[i].find(location);
      to.by_location.push_back(
          {location, {ns, variance == location_variance_[i].end() ? 0 : std::sqrt(variance->second)}});
    }
    std::ranges::stable_sort(to.by_node, std::greater<>{}, [](const auto& of) { return of.severity.ns; });
    std::ranges::stable_sort(to.by_location, std::greater<>{}, [](const auto& of) { return of.severity.ns; });
  }
}

}  // namespace refrain::patterns
