// Iterations and clusters for programs. A loop may have many millions of iterations: values go straight into the text,
// and no array of them is ever held.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

#include "offline/analysis/cluster_differences.hpp"
#include "offline/analysis/iterations.hpp"
#include "offline/report/csv_field.hpp"
#include "offline/report/json_writer.hpp"
#include "offline/report/loop_view.hpp"

namespace refrain::report {
namespace {

/// Integers as such, anything else with all its digits.
void append_number(std::string& out, double value) {
  constexpr double largest_integer = 0x1p53;
  if (value == std::trunc(value) && std::abs(value) < largest_integer)
    fmt::format_to(std::back_inserter(out), "{}", static_cast<std::int64_t>(value));
  else fmt::format_to(std::back_inserter(out), "{}", std::isfinite(value) ? value : 0.0);
}

std::string iterations_csv(const Document& d) {
  const LoopView& view = *d.loops;
  const auto metrics = analysis::iteration_metrics(view.groups[0].locations[0].profiles->loop());
  std::string out = "loop,rank,thread,iteration,cluster";
  for (const auto& metric : metrics) (out += ',') += csv_field(metric.column);
  if (view.callpath) (out += ',') += csv_field("callpath_" + view.metric.column);
  const bool has_error = view.callpath && shown_error(view, view.groups[0].locations[0]);
  if (has_error) out += ",callpath_standard_error_s";
  out += "\r\n";
  for (const LoopGroup& group : view.groups)
    for (const LoopOfLocation& of : group.locations) {
      const auto own = analysis::iteration_metrics(of.profiles->loop());
      std::vector<analysis::IterationValue> values;
      for (const auto& metric : metrics) {
        const bool known = std::any_of(own.begin(), own.end(), [&](const auto& m) { return m.name == metric.name; });
        values.push_back(known ? value_of_metric(*of.profiles, metric.name) : nullptr);
      }
      if (view.callpath) values.push_back(shown_value(view, of));
      if (has_error) values.push_back(shown_error(view, of));
      const std::string loop_and_place =
          fmt::format("{},{},{},", csv_field(group.name), of.location->rank, of.location->thread);
      analysis::for_each_iteration(of.profiles->loop(),
                                   [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
                                     out += loop_and_place;
                                     fmt::format_to(std::back_inserter(out), "{},{}", i, cluster);
                                     for (const auto& value : values) {
                                       out += ',';
                                       if (value) append_number(out, value(i, cluster, row));
                                     }
                                     out += "\r\n";
                                   });
    }
  return out;
}

std::string clusters_csv(const Document& d) {
  std::string out =
      "loop,rank,thread,cluster,size,class,overflow,first,last,exemplar,wall_share,mean_wall_s,deviation_wall_s,"
      "min_wall_s,max_wall_s,mean_mpi_s,apart_metric,apart_path,apart_cluster_mean,apart_loop_mean\r\n";
  for (const LoopGroup& group : d.loops->groups)
    for (const LoopOfLocation& of : group.locations) {
      const auto summaries = summarise_clusters(*of.profiles, d.tree);
      for (std::size_t k = 0; k < summaries.size(); ++k) {
        const auto& s = summaries[k];
        out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},", csv_field(group.name), of.location->rank,
                           of.location->thread, k, s.cluster->members, s.cluster->class_index,
                           s.cluster->overflow ? 1 : 0, s.cluster->first, s.cluster->last, s.cluster->exemplar, s.share,
                           s.mean_wall_s, s.deviation_wall_s, s.min_wall_s, s.max_wall_s, s.mean_mpi_s);
        if (s.differences.empty()) {
          out += ",,,\r\n";
          continue;
        }
        const auto& most = s.differences[0];
        out += fmt::format("{},{},{},{}\r\n", most.metric + (most.seconds ? "_s" : ""),
                           most.node == 0 ? "" : csv_path(d.tree, most.node), most.cluster_mean, most.loop_mean);
      }
    }
  return out;
}

/// Integers as such.
void number(JsonWriter& json, double value) {
  constexpr double largest_integer = 0x1p53;
  if (value == std::trunc(value) && std::abs(value) < largest_integer) json.value(static_cast<std::int64_t>(value));
  else json.value(std::isfinite(value) ? value : 0.0);
}

void clusters(JsonWriter& json, const LoopOfLocation& of, const analysis::CallTree& tree) {
  json.member_array("clusters", [&] {
    for (const auto& s : summarise_clusters(*of.profiles, tree))
      json.object([&] {
        json.member("size", s.cluster->members);
        json.member("class", s.cluster->class_index);
        json.member("exemplar", s.cluster->exemplar);
        json.member("first", s.cluster->first);
        json.member("last", s.cluster->last);
        json.member("overflow", s.cluster->overflow);
        json.member("wall_share", s.share);
        json.member("mean_wall_s", s.mean_wall_s);
        json.member("deviation_wall_s", s.deviation_wall_s);
        json.member("min_wall_s", s.min_wall_s);
        json.member("max_wall_s", s.max_wall_s);
        json.member("mean_mpi_s", s.mean_mpi_s);
        json.member_array("apart", [&] {
          for (const auto& difference : s.differences)
            json.object([&] {
              json.member("metric", difference.metric + (difference.seconds ? "_s" : ""));
              json.member("path", difference.node == 0 ? std::vector<std::string>() : path_to(tree, difference.node));
              json.member("cluster_mean", difference.cluster_mean);
              json.member("loop_mean", difference.loop_mean);
            });
        });
      });
  });
}

/// One pass over the log per series: the log is smaller than the series in any other form.
/// The place of a value is the number of its iteration: null stands for those that are not in the log.
void series(JsonWriter& json, const std::string& name, const LoopOfLocation& of,
            const analysis::IterationValue& value) {
  json.member_array(name, [&] {
    std::int64_t next = 0;
    analysis::for_each_iteration(of.profiles->loop(),
                                 [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
                                   for (; next < i; ++next) json.value(nullptr);
                                   ++next;
                                   number(json, value(i, cluster, row));
                                 });
    for (; next < of.profiles->loop().iterations; ++next) json.value(nullptr);
  });
}

void iterations(JsonWriter& json, const LoopView& view, const LoopOfLocation& of) {
  series(json, "cluster_of", of, [](std::int64_t, std::int32_t cluster, auto) { return static_cast<double>(cluster); });
  for (const auto& metric : analysis::iteration_metrics(of.profiles->loop())) {
    static constexpr std::string_view always[] = {"wall",          "mpi",           "user",       "cpu",
                                                  "mpi_calls",     "messages_sent", "bytes_sent", "messages_received",
                                                  "bytes_received"};
    const bool wanted = std::find(std::begin(always), std::end(always), metric.name) != std::end(always);
    if (!wanted && (view.callpath || metric.name != view.metric.name)) continue;
    series(json, metric.column, of, value_of_metric(*of.profiles, metric.name));
  }
  if (!view.callpath) return;
  json.member_object("callpath", [&] {
    json.member("wanted", view.callpath_name);
    const std::uint64_t stride = of.profiles->samples_stride();
    json.member("reconstructed", view.metric.name != "samples" || stride != 1);
    if (view.metric.name == "samples") {
      json.member("samples_recorded", stride == 1);
      json.member("samples_recorded_every", stride);
    }
    series(json, view.metric.column, of, shown_value(view, of));
    if (const auto error = shown_error(view, of)) series(json, "standard_error_s", of, error);
  });
}

}  // namespace

std::string loops_csv(const Document& d) { return d.options.iterations ? iterations_csv(d) : clusters_csv(d); }

void loops_json(JsonWriter& json, const Document& d) {
  json.member_array("loops", [&] {
    json.set_line_depth(4);  // a line for each location of a loop
    for (const LoopGroup& group : d.loops->groups)
      json.object([&] {
        json.member("name", group.name);
        json.member("iterations", group.iterations);
        json.member_array("per_location", [&] {
          for (const LoopOfLocation& of : group.locations)
            json.object([&] {
              json.member("rank", of.location->rank);
              json.member("thread", of.location->thread);
              if (d.options.iterations) iterations(json, *d.loops, of);
              clusters(json, of, d.tree);
            });
        });
      });
    json.set_line_depth(2);
  });
}

}  // namespace refrain::report
