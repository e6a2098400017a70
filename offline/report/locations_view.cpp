// Times and counts of each rank and thread, in the run or below one call path.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/analysis/severities.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/loop_view.hpp"
#include "offline/report/metric_columns.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

using analysis::LocationRef;
using analysis::Severities;
using analysis::Severity;

/// Text shows not_on_cpu only where its parts are not told apart.
constexpr const char* usual_metrics[] = {"wall",    "mpi",     "user",   "not_on_cpu", "waited_for_core",
                                         "blocked", "refrain", "visits", "samples"};

Kind kind_of_unit(std::string_view unit) {
  return unit == "s" ? Kind::Seconds : unit == "B" ? Kind::Bytes : Kind::Count;
}

/// The values that are shown of each location.
class Shown {
 public:
  explicit Shown(const Document& d)
      : severities_(d.experiment, d.tree),
        is_told_of_all_(d.tree.totals.off_cpu_is_told_apart),
        is_told_of_any_(std::ranges::any_of(d.tree.locations, &analysis::LocationSummary::off_cpu_is_told_apart)) {
    std::vector<std::uint32_t> nodes{0};
    if (!d.request.callpath.empty()) nodes = match_or_refuse(*d.experiment, d.tree, d.request.callpath).nodes;
    nodes_ = severities_.select(nodes, true);
    if (d.request.metric.empty()) {
      for (const char* name : usual_metrics) metrics_.push_back(*severities_.metric(name));
      return;
    }
    const auto metric = severities_.metric(d.request.metric);
    if (!metric) {
      std::vector<std::string> names;
      for (const auto& one : severities_.metrics()) names.push_back(one.name);
      throw UsageError(
          fmt::format("--metric {}: a call path of a location has {}", d.request.metric, fmt::join(names, ", ")));
    }
    if (is_part_of_off_cpu(d.request.metric) && !is_told_of_any_)
      throw UsageError(fmt::format(
          "--metric {}: this experiment does not tell waiting for a core from being blocked; not_on_cpu is both",
          d.request.metric));
    metrics_.push_back(*metric);
  }

  std::vector<Column> columns() const {
    std::vector<Column> columns = {
        {"rank", Kind::Id, ForPrograms}, {"thread", Kind::Id, ForPrograms}, {"rank", Kind::Text, ForPeople}, {"node"}};
    for (const std::size_t m : metrics_) {
      const analysis::MetricNode& metric = severities_.metrics()[m];
      const Kind kind = kind_of_unit(metric.unit);
      const std::string name = metric.unit == "s" ? metric.name + "_s" : metric.name;
      columns.push_back({name, kind, is_in_text(metric.name) ? Everywhere : ForPrograms, heading_of(metric.name)});
      if (kind != Kind::Seconds) continue;
      columns.push_back({name.substr(0, name.size() - 2) + "_standard_error_s", kind,
                         metrics_.size() == 1 ? Everywhere : ForPrograms, "std error"});
      columns.push_back({metric.name + "_precision", Kind::Text, ForPrograms});
      if (!has_bounds(m)) continue;
      for (const char* bound : {"low", "high"})
        columns.push_back({metric.name + "_" + bound + "_s", kind, metrics_.size() == 1 ? Everywhere : ForPrograms,
                           bound == std::string_view("low") ? "at least" : "at most"});
    }
    columns.push_back({"cores_at_begin", Kind::Text, ForPrograms});
    columns.push_back({"cores_at_end", Kind::Text, ForPrograms});
    columns.push_back({"name"});
    return columns;
  }

  void rows(const Document& d, const TakeRow& take) const {
    for (std::size_t place = 0; place < d.experiment->ranks().size(); ++place) {
      if (!d.chosen(d.experiment->ranks()[place])) continue;
      const auto rank = d.experiment->rank(place, experiment::Depth::Run);
      for (std::size_t l = 0; rank && l < rank->locations.size(); ++l)
        if (d.request.chosen(rank->rank, rank->locations[l].thread)) take(row(*rank, {place, l}));
    }
  }

 private:
  Row row(const experiment::Rank& rank, const LocationRef& at) const {
    const experiment::Location& location = rank.locations[at.location];
    Row row{{std::int64_t{rank.rank}, std::int64_t{location.thread},
             location.thread == 0 ? fmt::format("{}", rank.rank) : fmt::format("{}.{}", rank.rank, location.thread),
             rank.host}};
    const std::vector<Severity> values = severities_.of(metrics_, nodes_, at);
    for (std::size_t m = 0; m < metrics_.size(); ++m) {
      const Severity& of = values[m];
      const bool is_unknown = is_part_of_off_cpu(severities_.metrics()[metrics_[m]].name) &&
                              (!rank.off_cpu_is_counted || location.has(format::Loss::RunDelayUnknown));
      if (is_unknown) row.cells.resize(row.cells.size() + 3);
      else if (severities_.metrics()[metrics_[m]].unit == "s") add_time(row, of, has_bounds(metrics_[m]));
      else row.cells.emplace_back(static_cast<std::int64_t>(std::clamp(of.value, -9e18, 9e18)));
    }
    row.cells.emplace_back(analysis::core_list(rank.cores.at_begin));
    row.cells.emplace_back(analysis::core_list(rank.cores.at_end));
    row.cells.emplace_back(location.name);
    return row;
  }

  bool is_in_text(std::string_view metric) const {
    if (metrics_.size() == 1) return true;
    if (metric == "not_on_cpu") return !is_told_of_all_;
    return is_told_of_any_ || !is_part_of_off_cpu(metric);
  }
  static bool is_part_of_off_cpu(std::string_view metric) { return metric == "waited_for_core" || metric == "blocked"; }
  static std::string heading_of(const std::string& metric) { return metric == "waited_for_core" ? "waited" : metric; }
  bool has_bounds(std::size_t metric) const {
    return nodes_.all() && severities_.metrics()[metric].name == "not_on_cpu";
  }
  static void add_time(Row& row, const Severity& of, bool has_bounds) {
    const Cell error = of.standard_error ? Cell(*of.standard_error) : Cell();
    row.cells.insert(row.cells.end(), {of.value, error, name_of(of.known)});
    if (!has_bounds) return;
    row.cells.push_back(of.bounds ? Cell(of.bounds->first) : Cell());
    row.cells.push_back(of.bounds ? Cell(of.bounds->second) : Cell());
  }

  Severities severities_;
  bool is_told_of_all_, is_told_of_any_;
  analysis::NodeSet nodes_;
  std::vector<std::size_t> metrics_;
};

}  // namespace

/// The values are looked up before anything is printed, so that damage is told first.
std::vector<Table> locations_tables(const Document& d) {
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
