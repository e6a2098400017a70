#pragma once
/// Hand-made loops: iterations are given one by one with their cluster, the units of the clusters are their sums.

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "offline/experiment/profile.hpp"
#include "tests/unit/run/unit_rows.hpp"

namespace refrain::analysis::test {

/// The call paths of every profile made here. Addresses without a module are their own names.
enum Path : std::uint32_t { root, frame_10, send, frame_18, allreduce, function_10, function_20, path_count };

inline experiment::Profile empty_profile() {
  using format::NodeKind;
  experiment::Profile profile;
  profile.complete = true;
  profile.regions = {"MPI_Send", "MPI_Allreduce"};
  profile.paths = {{0, NodeKind::Root, -1, 0},       {0, NodeKind::Frame, -1, 0x10}, {1, NodeKind::Region, -1, 0},
                   {0, NodeKind::Frame, -1, 0x18},   {3, NodeKind::Region, -1, 1},   {0, NodeKind::Function, -1, 0x10},
                   {1, NodeKind::Function, -1, 0x20}};
  return profile;
}

struct Iteration {
  std::int32_t cluster = 0;
  std::int64_t wall = 0;
  /// Visits, time, messages and bytes sent and received. The thread was never off the CPU.
  std::array<std::int64_t, 6> send{}, allreduce{};
  std::array<std::int64_t, 2> function_10{}, function_20{};  ///< samples, weight
  std::int64_t ticks_lost = 0;
};

/// By name, in the order of the file.
inline const std::vector<experiment::OverallMetric>& metrics() {
  using format::Precision;
  static const std::vector<experiment::OverallMetric> list = {{"wall", "ticks", Precision::Exact},
                                                              {"mpi", "ticks", Precision::Exact},
                                                              {"own", "ticks", Precision::Rounded},
                                                              {"cpu", "ns", Precision::Rounded},
                                                              {"mpi_calls", "1", Precision::Exact},
                                                              {"messages_sent", "1", Precision::Exact},
                                                              {"bytes_sent", "B", Precision::Exact},
                                                              {"messages_received", "1", Precision::Exact},
                                                              {"bytes_received", "B", Precision::Exact},
                                                              {"samples", "1", Precision::Rounded},
                                                              {"samples_mpi", "1", Precision::Rounded},
                                                              {"weight", "ns", Precision::NotKept},
                                                              {"ticks_without_sample", "1", Precision::Rounded}};
  return list;
}

/// Places in metrics() of what the columns of MPI call paths scale with, as in a file.
inline std::vector<experiment::ScalesWith> scales_with() {
  using format::MetricId;
  const auto place = [](MetricId metric) {
    const auto& list = metrics();
    for (std::size_t i = 0; metric != MetricId::Nothing && i < list.size(); ++i)
      if (list[i].name == format::row_of(metric).total_name) return static_cast<std::int32_t>(i);
    return std::int32_t{-1};
  };
  std::vector<experiment::ScalesWith> out;
  for (const MetricId metric : format::column_metrics<format::NodeKind::Region>) {
    const auto& row = format::row_of(metric);
    out.push_back({place(row.scales_with == MetricId::Self ? metric : row.scales_with), place(row.also_scales_with)});
  }
  return out;
}

/// The exact vector, by metrics().
inline std::vector<std::int64_t> vector_of(const Iteration& it) {
  const auto sum = [&](std::size_t column) { return it.send[column] + it.allreduce[column]; };
  return {it.wall,
          sum(1),
          0,
          it.wall,
          sum(0),
          sum(2),
          sum(3),
          sum(4),
          sum(5),
          it.function_10[0] + it.function_20[0],
          0,
          0,
          it.ticks_lost};
}

inline experiment::Unit unit_of(const Iteration& it, std::int32_t loop = 0) {
  experiment::Unit unit;
  unit.loop = loop;
  unit.cluster = it.cluster;
  unit.wall = unit.cpu_ns = it.wall;
  unit.mpi = it.send[1] + it.allreduce[1];
  unit.mpi_calls = it.send[0] + it.allreduce[0];
  unit.ticks_lost = it.ticks_lost;
  const auto put = [&](std::uint32_t path, auto& values) {
    if (std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v == 0; })) return;
    if (path == send || path == allreduce) {
      std::vector<std::int64_t> row(values.begin(), values.end());
      row.insert(row.begin() + std::ptrdiff_t{format::column_of(format::MetricId::OffCpuMpi)}, 0);
      experiment::test::add_row(unit, path, format::NodeKind::Region, row);
    } else {
      experiment::test::add_row(unit, path, format::NodeKind::Function, values);
    }
  };
  put(send, it.send);
  put(allreduce, it.allreduce);
  put(function_10, it.function_10);
  put(function_20, it.function_20);
  for (const auto& values : {it.function_10, it.function_20}) {
    unit.ticks_user += values[0];
    unit.weight_user_ns += values[1];
    if (values[0] > 0)
      unit.weight_user_squared +=
          static_cast<double>(values[1]) * static_cast<double>(values[1]) / static_cast<double>(values[0]);
  }
  return unit;
}

/// Adds the loop with its clusters; labels are the numbers of the clusters.
inline void add_loop(experiment::Location& location, const std::string& name,
                     const std::vector<Iteration>& iterations) {
  const auto number = static_cast<std::int32_t>(location.loops.size());
  experiment::Loop loop;
  loop.name = name;
  loop.iterations = static_cast<std::int64_t>(iterations.size());
  loop.metrics = metrics();
  std::map<std::int32_t, Iteration> sums;
  std::map<std::int32_t, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const Iteration& it = iterations[i];
    if (it.cluster < 0) continue;
    Iteration& sum = sums[it.cluster];
    sum.cluster = it.cluster;
    sum.wall += it.wall;
    for (std::size_t c = 0; c < 6; ++c) sum.send[c] += it.send[c], sum.allreduce[c] += it.allreduce[c];
    for (std::size_t c = 0; c < 2; ++c)
      sum.function_10[c] += it.function_10[c], sum.function_20[c] += it.function_20[c];
    sum.ticks_lost += it.ticks_lost;
    members[it.cluster].push_back(i);
  }
  for (const auto& [index, sum] : sums) {
    experiment::Cluster cluster;
    cluster.label = static_cast<std::uint32_t>(index);
    const auto& own = members[index];
    cluster.members = static_cast<std::int64_t>(own.size());
    cluster.first = cluster.exemplar = static_cast<std::int64_t>(own.front());
    cluster.last = static_cast<std::int64_t>(own.back());
    const auto total = vector_of(sum);
    for (std::size_t m = 0; m < total.size(); ++m) {
      const double mean = static_cast<double>(total[m]) / static_cast<double>(own.size());
      double squares = 0;
      std::int64_t low = vector_of(iterations[own[0]])[m], high = low;
      for (const std::size_t i : own) {
        const std::int64_t v = vector_of(iterations[i])[m];
        squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
        low = std::min(low, v), high = std::max(high, v);
      }
      cluster.minimum.push_back(low);
      cluster.maximum.push_back(high);
      cluster.squares.push_back(squares);
    }
    loop.clusters.push_back(std::move(cluster));
    location.units.push_back(unit_of(sum, number));
  }
  location.loops.push_back(std::move(loop));
}

/// One rank, one location, one loop.
inline experiment::Profile profile_of(const std::vector<Iteration>& iterations) {
  experiment::Profile profile = empty_profile();
  experiment::Rank rank;
  rank.ticks_per_second = 1e9;
  experiment::Location location;
  location.name = "main";
  location.losses.assign(format::loss_count, 0);
  add_loop(location, "step", iterations);
  rank.locations.push_back(std::move(location));
  profile.ranks.push_back(std::move(rank));
  return profile;
}

}  // namespace refrain::analysis::test
