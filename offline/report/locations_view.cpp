// Times and counts of each rank and thread, in the run or below one call path.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/report/columns.hpp"
#include "offline/report/loop_view.hpp"
#include "offline/report/metric_columns.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

/// Text shows not_on_cpu only if its parts are not told apart.
constexpr const char* usual_metrics[] = {"wall",    "mpi",     "user",   "not_on_cpu", "waited_for_core",
                                         "blocked", "refrain", "visits", "samples"};

/// The values that are shown for each location.
class Shown {
 public:
  explicit Shown(const Document& d)
      : run_(run_of(*d.experiment, d.tree)),
        is_told_of_all_(d.tree.totals.off_cpu_is_told_apart),
        is_told_of_any_(std::ranges::any_of(d.tree.locations, &analysis::LocationSummary::off_cpu_is_told_apart)) {
    run_.add_found();
    std::vector<std::uint32_t> nodes{0};
    if (!d.request.callpath.empty()) nodes = match_or_refuse(*d.experiment, d.tree, d.request.callpath).nodes;
    is_of_everything_ = nodes == std::vector<std::uint32_t>{0};
    question_.nodes = run_.nodes().select(nodes, true);
    if (d.request.metric.empty()) {
      for (const char* name : usual_metrics) question_.metrics.push_back(*run_.metrics().find(name));
      return;
    }
    const auto metric = run_.metrics().find(d.request.metric);
    if (!metric) {
      std::vector<std::string> names;
      for (const run::Metric& one : run_.metrics().list()) names.push_back(one.name);
      throw UsageError(
          fmt::format("--metric {}: a call path of a location has {}", d.request.metric, fmt::join(names, ", ")));
    }
    if (is_part_of_off_cpu(d.request.metric) && !is_told_of_any_)
      throw UsageError(fmt::format(
          "--metric {}: this experiment does not tell waiting for a core from being blocked; not_on_cpu is both",
          d.request.metric));
    question_.metrics.push_back(*metric);
  }

  std::vector<Column> columns() const {
    std::vector<Column> columns = {
        {"rank", Kind::Id, ForPrograms}, {"thread", Kind::Id, ForPrograms}, {"rank", Kind::Text, ForPeople}, {"node"}};
    for (const std::size_t m : question_.metrics) {
      const run::Metric& metric = run_.metrics()[m];
      const Kind kind = kind_of_unit(metric.unit);
      const std::string name = metric.column();
      columns.push_back({name, kind, is_in_text(metric.name) ? Everywhere : ForPrograms, heading_of(metric.name)});
      if (kind != Kind::Seconds) continue;
      columns.push_back({name.substr(0, name.size() - 2) + "_standard_error_s", kind,
                         is_one_metric() ? Everywhere : ForPrograms, "std error"});
      columns.push_back({metric.name + "_precision", Kind::Text, ForPrograms});
      if (!has_bounds(m)) continue;
      for (const char* bound : {"low", "high"})
        columns.push_back({metric.name + "_" + bound + "_s", kind, is_one_metric() ? Everywhere : ForPrograms,
                           bound == std::string_view("low") ? "at least" : "at most"});
    }
    columns.push_back({"cores_at_begin", Kind::Text, ForPrograms});
    columns.push_back({"cores_at_end", Kind::Text, ForPrograms});
    columns.push_back({"name"});
    return columns;
  }

  void rows(const Document& d, const TakeRow& take) const {
    run::for_each_leaf(*d.experiment, d.where(), [&](const run::Leaf& leaf) { take(row(leaf)); });
  }

 private:
  Row row(const run::Leaf& leaf) const {
    const experiment::Rank& rank = leaf.rank;
    const experiment::Location& location = leaf.location;
    Row row{{std::int64_t{rank.rank}, std::int64_t{location.thread},
             location.thread == 0 ? fmt::format("{}", rank.rank) : fmt::format("{}.{}", rank.rank, location.thread),
             rank.host}};
    const run::Answer values = answer_of(leaf, run_.nodes(), run_.metrics(), question_);
    for (std::size_t column = 0; column < question_.metrics.size(); ++column) {
      const run::Metric& metric = run_.metrics()[question_.metrics[column]];
      const run::Quantity of = values.of(column);
      if (!of.is_known) row.cells.resize(row.cells.size() + 3);
      else if (metric.unit == "s") add_time(row, metric, of, has_bounds(question_.metrics[column]));
      else row.cells.emplace_back(run::narrowed(of.value));
    }
    row.cells.emplace_back(analysis::core_list(rank.cores.at_begin));
    row.cells.emplace_back(analysis::core_list(rank.cores.at_end));
    row.cells.emplace_back(location.name);
    return row;
  }

  bool is_in_text(std::string_view metric) const {
    if (is_one_metric()) return true;
    if (metric == "not_on_cpu") return !is_told_of_all_;
    return is_told_of_any_ || !is_part_of_off_cpu(metric);
  }
  static bool is_part_of_off_cpu(std::string_view metric) { return metric == "waited_for_core" || metric == "blocked"; }
  static std::string heading_of(const std::string& metric) { return metric == "waited_for_core" ? "waited" : metric; }
  bool has_bounds(std::size_t metric) const { return is_of_everything_ && metric == run::not_on_cpu; }
  bool is_one_metric() const { return question_.metrics.size() == 1; }
  static void add_time(Row& row, const run::Metric& metric, const run::Quantity& of, bool has_bounds) {
    const auto error = of.error();
    row.cells.insert(row.cells.end(),
                     {metric.in_unit(of), error ? Cell(*error / metric.scale) : Cell(), name_of(of.known)});
    if (!has_bounds) return;
    row.cells.emplace_back(metric.in_unit(of.value - of.below));
    row.cells.emplace_back(metric.in_unit(of.value + of.above));
  }

  run::Run run_;
  bool is_told_of_all_, is_told_of_any_, is_of_everything_ = true;
  run::Question question_;
};

/// The locations of a run of another tool, with the column names that experiments have.
Table foreign_locations_table(const Document& d) {
  Table table{"by_location",
              columns("rank, thread", ForPrograms) + columns("on_rank: rank", ForPeople) +
                  columns("wall_s: wall, mpi_s: mpi, user_s: user, visits, bytes_sent: sent, bytes_received: received, "
                          "name"),
              rows_of(d.tree.locations, [](const analysis::LocationSummary& of) -> Row {
                const std::string number =
                    of.thread == 0 ? fmt::format("{}", of.rank) : fmt::format("{}.{}", of.rank, of.thread);
                return {{std::int64_t{of.rank}, std::int64_t{of.thread}, number, of.wall_s, of.mpi_s, of.user_s,
                         of.counts[format::MetricId::Visits], of.counts[format::MetricId::BytesSent],
                         of.counts[format::MetricId::BytesReceived], of.name}};
              })};
  table.columns[2].kind = Kind::Text;
  return table;
}

}  // namespace

/// The values are looked up before anything is printed, so that damage is reported first.
std::vector<Table> locations_tables(const Document& d) {
  if (d.foreign) return {foreign_locations_table(d)};
  const auto shown = std::make_shared<const Shown>(d);
  Table table{"by_location", shown->columns(), [&d, shown](const TakeRow& take) { shown->rows(d, take); }};
  table.empty = "No time was measured.";
  if (!d.request.callpath.empty())
    table.before = {{"below " + d.request.callpath + ", with what is called there", Note::Strong, 0, true}};
  return {std::move(table)};
}

Table threads_table(const Document& d) {
  std::vector<Column> all = columns(
      "rank, thread, name, wall_s, mpi_s, user_s, overhead_s, measurement_off_s, not_on_cpu_s, waited_for_core_s, "
      "blocked_s, mpi_off_cpu_s, samples");
  add_asked_for_columns(all, d.tree, InJson, {"metrics"});
  return {"locations", std::move(all), rows_of(d.tree.locations, [&d](const analysis::LocationSummary& l) {
            const auto if_known = [](bool known, double seconds) { return known ? Cell(seconds) : Cell(); };
            Row row{{std::int64_t{l.rank}, std::int64_t{l.thread}, l.name, l.wall_s, l.mpi_s, l.user_s, l.refrain_s,
                     l.stopped_s, l.not_on_cpu_s, if_known(l.off_cpu_is_told_apart, l.waited_for_core_s),
                     if_known(l.off_cpu_is_told_apart, l.blocked_s), if_known(l.off_cpu_is_counted, l.mpi_off_cpu_s),
                     l.samples}};
            add_asked_for(row, d.tree, l.counts);
            return row;
          })};
}

}  // namespace refrain::report
