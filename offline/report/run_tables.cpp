// The tables of the run as a whole that every document has: its origin, totals, damage and communicators.
#include "offline/analysis/windows.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/metric_columns.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

/// An object that is built cell by cell.
struct ObjectTable {
  std::string name;
  std::vector<Column> columns = {};
  Row row = {};

  template <class Value>
  void add(std::string member, Value&& value, std::vector<std::string> group = {}) {
    columns.push_back({std::move(member), Kind::Text, InJson, "", std::move(group)});
    row.cells.emplace_back(std::forward<Value>(value));
  }
  Table take() { return object_of(std::move(name), std::move(columns), std::move(row)); }
};

void add_cost(ObjectTable& table, const std::string& name, const experiment::Cost& c) {
  table.add("median_ns", c.median, {name});
  table.add("low_ns", c.low, {name});
  table.add("high_ns", c.high, {name});
}

}  // namespace

Table experiment_table(const Document& d) {
  const experiment::Manifest& manifest = d.experiment->manifest();
  ObjectTable table{"experiment"};
  table.add("directory", d.experiment->directory().string());
  table.add("command", manifest.command);
  table.add("ranks", std::int64_t{d.overview.ranks});
  std::vector<std::int64_t> missing(d.overview.missing_ranks.begin(), d.overview.missing_ranks.end());
  table.add("missing_ranks", std::move(missing));
  table.add("state", d.overview.state);
  table.add("version", manifest.version);
  table.add("executable", manifest.executable);
  table.add("working_directory", manifest.working_directory);
  table.add("started", manifest.started);
  table.add("ended", manifest.ended);
  table.add("hosts", d.overview.hosts);
  std::vector<std::string> shared;
  for (const auto& of : d.overview.shared) shared.push_back(analysis::sentence(of, d.overview.hosts.size() > 1));
  table.add("shared_cores", std::move(shared));
  table.add("mpi_library", manifest.mpi_library);
  ObjectTable configuration{"configuration"};
  for (const auto& [name, value] : manifest.configuration) configuration.add(name, value);
  table.add("source", d.overview.sampling_source, {"sampling"});
  table.add("reason", d.overview.sampling_reason, {"sampling"});
  table.add("subject", d.part.subject);
  table.add("notes", d.tree.notes);
  if (d.part.reconstructed) table.add("reconstructed", *d.part.reconstructed);
  if (d.part.samples_recorded) table.add("samples_recorded", *d.part.samples_recorded);
  if (d.part.pool_samples) {
    table.add("least", d.part.pool_samples->least, {"user_code_divided_by_samples"});
    table.add("most", d.part.pool_samples->most, {"user_code_divided_by_samples"});
  }
  table.row.tables.push_back(configuration.take());
  return table.take();
}

Table totals_table(const Document& d) {
  const analysis::Totals& t = d.tree.totals;
  ObjectTable table{"totals"};
  table.add("wall_s", t.wall_s);
  table.add("mpi_s", t.mpi_s);
  table.add("user_s", t.user_s);
  table.add("overhead_s", t.refrain_s);
  table.add("measurement_off_s", t.stopped_s);
  table.add("not_on_cpu_s", t.not_on_cpu_s);
  const auto if_known = [](bool known, double seconds) { return known ? Cell(seconds) : Cell(); };
  table.add("waited_for_core_s", if_known(t.off_cpu_is_told_apart, t.waited_for_core_s));
  table.add("blocked_s", if_known(t.off_cpu_is_told_apart, t.blocked_s));
  table.add("mpi_off_cpu_s", if_known(t.off_cpu_is_counted, t.mpi_off_cpu_s));
  table.add("throttled_s", if_known(d.overview.throttled_s.has_value(), d.overview.throttled_s.value_or(0)));
  table.add("taken_of_cores", if_known(d.overview.taken_share.has_value(), d.overview.taken_share.value_or(0)));
  table.add("not_on_cpu_low_s", t.not_on_cpu_low_s);
  table.add("not_on_cpu_high_s", t.not_on_cpu_high_s);
  table.add("samples", t.ticks_user);
  table.add("samples_mpi", t.ticks_mpi);
  table.add("ticks_without_sample", t.ticks_without_sample);
  table.add("mpi_calls", t.mpi_calls);
  add_cost(table, "cost_per_call", d.overview.call_cost_ns);
  add_cost(table, "cost_per_tick", d.overview.tick_cost_ns);
  ObjectTable own{"own_work"}, losses{"losses"};
  for (std::size_t i = 0; i < d.overview.own_times.size(); ++i)
    if (const OwnTimeLine& line = d.overview.own_times[i]; line.timed > 0) {
      const std::vector<std::string> of{format::own_time_table[i].name};
      own.add("timed", line.timed, of);
      own.add("mean_ns", line.mean_ns, of);
      own.add("standard_error_ns", line.error_ns, of);
    }
  for (const LossLine& loss : d.overview.losses) {
    if (loss.is_time) losses.add(loss.name, static_cast<double>(loss.count) * 1e-9);
    else losses.add(loss.name, loss.count);
  }
  add_asked_for_columns(table.columns, d.tree, InJson, {"metrics"});
  add_asked_for(table.row, d.tree, t.counts);
  table.row.tables.push_back(own.take());
  table.row.tables.push_back(losses.take());
  return table.take();
}

Table damage_table(const Document& d) {
  // Written when everything that a document needs has been read.
  Table table{"", {{"damage"}}, [&d](const TakeRow& take) { take({{d.experiment->damage()}}); }};
  table.shape = Table::Object;
  return table;
}

Table communicators_table(const Document& d) {
  return {"communicators",
          columns("on_rank, id, parent, ordinal, leader, rank, size, remote_size, outside, made, name"),
          [&d](const TakeRow& take) {
            d.for_each_rank(experiment::Depth::Run, [&](const experiment::Rank& rank) {
              for (const auto& c : rank.communicators) {
                Row row;
                for (const std::int64_t value :
                     {std::int64_t{rank.rank}, std::int64_t{c.id}, std::int64_t{c.parent}, std::int64_t{c.ordinal},
                      std::int64_t{c.leader}, std::int64_t{c.rank}, std::int64_t{c.size}, std::int64_t{c.remote_size},
                      static_cast<std::int64_t>(c.members.outside()), c.made})
                  row.cells.emplace_back(value);
                row.cells.emplace_back(c.name);
                take(row);
              }
            });
          }};
}

}  // namespace refrain::report
