// Every iteration of the marked loops. A loop may have many millions of them: values go straight to the writer.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "offline/report/columns.hpp"
#include "offline/report/loop_view.hpp"
#include "offline/report/metric_columns.hpp"
#include "offline/report/views.hpp"
#include "offline/run/iterations.hpp"
#include "offline/run/quantities.hpp"

namespace refrain::report {
namespace {

using run::IterationValue;

/// Documents have these for every loop, besides the requested metric.
constexpr std::string_view usual[] = {
    "wall", "mpi", "user", "cpu", "mpi_calls", "messages_sent", "bytes_sent", "messages_received", "bytes_received"};

std::vector<run::Metric> metrics_of(const LoopView& view, const experiment::Loop& loop) {
  std::vector<run::Metric> metrics = run::iteration_metrics(loop);
  std::erase_if(metrics, [&](const run::Metric& metric) {
    const bool asked_for = !view.callpath && !view.source && metric.name == view.metric.name;
    return !asked_for && std::ranges::find(usual, metric.name) == std::end(usual);
  });
  return metrics;
}

/// Values of each iteration of an open loop, by column.
struct LoopSeries {
  std::shared_ptr<const OpenLoop> open;
  std::vector<Column> columns = {};
  std::vector<IterationValue> values = {};

  void add(Column column, IterationValue value) {
    columns.push_back(std::move(column));
    values.push_back(std::move(value));
  }
  /// Adds the requested metric if profiles of iterations do not have it.
  void add_source(const LoopView& view) {
    if (view.source && !view.callpath) add({view.metric.column(), Kind::Seconds}, shown_value(view, *open));
  }
  /// The table keeps the loop open.
  Table table() {
    Table made{"iteration", std::move(columns)};
    made.shape = Table::Series;
    made.places = open->loop().iterations;
    made.numbers = [open = open, values = std::move(values),
                    row_values = std::vector<double>()](const TakeNumbers& take) mutable {
      row_values.resize(values.size());
      run::for_each_iteration(open->loop(),
                              [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
                                for (std::size_t v = 0; v < values.size(); ++v)
                                  row_values[v] = values[v] ? values[v](i, cluster, row) : NAN;
                                take(i, row_values);
                              });
    };
    return made;
  }
};

IterationValue cluster_value() {
  return [](std::int64_t, std::int32_t cluster, auto) { return static_cast<double>(cluster); };
}

Column precision_column() {
  Column column{"callpath_precision"};
  for (const auto known : {run::Known::Exact, run::Known::Sampled, run::Known::Reconstructed})
    column.words.push_back(name_of(known));
  return column;
}

/// The values of the requested call path.
Table callpath_table(const LoopView& view, const std::shared_ptr<const OpenLoop>& open) {
  const std::uint64_t stride = open->profiles->samples_stride();
  const bool samples = view.metric.name == "samples";
  const bool whole = view.source ? view.source->known() == run::Known::Exact : view.callpath->selection.everything;
  Row row{{view.callpath_name, !whole && (!samples || stride != 1), {}, {}}};
  if (samples) row.cells[2] = stride == 1, row.cells[3] = static_cast<std::int64_t>(stride);
  LoopSeries series{open};
  series.add({view.metric.column(), kind_of_unit(view.metric.unit)}, shown_value(view, *open));
  if (auto error = shown_error(view, *open)) series.add({"standard_error_s", Kind::Number}, std::move(error));
  row.tables.push_back(series.table());
  return object_of("callpath", columns("wanted, reconstructed, samples_recorded, samples_recorded_every"),
                   std::move(row));
}

std::vector<Table> location_tables(const Document& d, const LoopPlace& of) {
  std::vector<Table> tables;
  std::shared_ptr<const OpenLoop> open;
  if (d.request.asks(Show::Iterations))
    if ((open = d.loops->open(*d.experiment, of))) {
      LoopSeries series{open};
      series.add({"cluster_of", Kind::Count}, cluster_value());
      for (const run::Metric& metric : metrics_of(*d.loops, open->loop()))
        series.add({metric.column(), kind_of_unit(metric.unit)}, value_of_metric(*open->profiles, metric.name));
      series.add_source(*d.loops);
      tables.push_back(series.table());
      if (d.loops->callpath) tables.push_back(callpath_table(*d.loops, open));
    }
  tables.push_back(clusters_table(d, of, InJson, open));
  return tables;
}

Table iterations_table(const Document& d) {
  const auto rows_of = [&d](const LoopGroup& group) {
    return [&d, &group](const TakeRow& take) {
      for (const LoopPlace& of : group.locations) {
        const auto open = d.loops->open(*d.experiment, of);
        if (!open) continue;
        const auto own = run::iteration_metrics(open->loop());
        LoopSeries series{open};
        series.add({"cluster", Kind::Id}, cluster_value());
        for (const run::Metric& metric : d.loops->metrics) {
          const bool known = std::ranges::find(own, metric.name, &run::Metric::name) != own.end();
          series.add({metric.column(), kind_of_unit(metric.unit)},
                     known ? value_of_metric(*open->profiles, metric.name) : nullptr);
        }
        series.add_source(*d.loops);
        if (d.loops->callpath) {
          series.add({"callpath_" + d.loops->metric.column(), kind_of_unit(d.loops->metric.unit)},
                     shown_value(*d.loops, *open));
          if (auto error = shown_error(*d.loops, *open))
            series.add({"callpath_standard_error_s", Kind::Number}, std::move(error));
          series.add(precision_column(), shown_precision(*d.loops, *open));
        }
        take({{std::int64_t{of.rank}, std::int64_t{of.thread}}, {series.table()}});
      }
    };
  };
  return {"loops", columns("loop"), [&d, rows_of](const TakeRow& take) {
            for (const LoopGroup& group : d.loops->groups)
              take({{group.name}, {{"per_location", columns("rank, thread"), rows_of(group)}}});
          }};
}

}  // namespace

std::vector<Table> loop_text_tables(const Document& d) {
  const bool iterations = d.request.asks(Show::Iterations), clusters = d.request.asks(Show::Clusters);
  const Table empty_line{.before = {{}}};
  std::vector<Table> tables;
  for (const LoopGroup& group : d.loops->groups) {
    if (!tables.empty()) tables.push_back(empty_line);
    if (iterations) tables.push_back(chart_table(d, group));
    if (iterations && clusters) tables.push_back(empty_line);
    if (clusters) std::ranges::move(cluster_text_tables(d, group), std::back_inserter(tables));
  }
  return tables;
}

namespace {

Table slow_iterations_table(const Document& d, const LoopGroup& group) {
  return {"slowest", columns("iteration, wall_s"), [&d, &group](const TakeRow& take) {
            for (const SlowIteration& of : slowest_of(d, group)) take({{of.iteration, of.wall_s}});
          }};
}

Table loop_locations_table(const Document& d, const LoopGroup& group) {
  return {"per_location", columns("rank, thread"), [&d, &group](const TakeRow& take) {
            for (const LoopPlace& of : group.locations)
              take({{std::int64_t{of.rank}, std::int64_t{of.thread}}, location_tables(d, of)});
          }};
}

}  // namespace

Table loops_table(const Document& d) {
  Table table{"loops", columns("name, iterations, thinned_from, kept_every"), [&d](const TakeRow& take) {
                for (const LoopGroup& group : d.loops->groups) {
                  const std::int64_t from = group.kept_every > 1 ? group.thinned_from : group.iterations;
                  take({{group.name, group.iterations, from, group.kept_every},
                        {slow_iterations_table(d, group), loop_locations_table(d, group)}});
                }
              }};
  table.line_depth = 4;  // one line for each location of a loop
  return table;
}

std::vector<Table> iterations_tables(const Document& d) {
  if (d.request.format == Format::Text) return loop_text_tables(d);
  return {d.request.format == Format::Json ? loops_table(d) : iterations_table(d)};
}

}  // namespace refrain::report
