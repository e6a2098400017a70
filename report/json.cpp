#include "analysis/iteration_metrics.hpp"
#include "analysis/windows.hpp"
#include "report/json_dump.hpp"
#include "report/loop_view.hpp"
#include "report/overview.hpp"

namespace refrain::report {
namespace {

Json counts(const analysis::Counts& c) {
  Json of = Json::object();
  for (const auto& column : analysis::count_columns) of[column.name] = c.*column.value;
  return of;
}

/// The metrics that the user has asked for.
Json extra(const analysis::CallTree& tree, const std::vector<std::int64_t>& values) {
  Json of = Json::object();
  for (std::size_t m = 0; m < tree.extra_metrics.size(); ++m) {
    const auto& [name, unit] = tree.extra_metrics[m];
    const double divisor = analysis::divisor_of(unit);
    of[analysis::metric_of(name, unit).column] =
        divisor == 1 ? Json(values[m]) : Json(static_cast<double>(values[m]) / divisor);
  }
  return of;
}

Json cost(const archive::Cost& c) { return {{"median_ns", c.median}, {"low_ns", c.low}, {"high_ns", c.high}}; }

Json experiment(const Document& d) {
  const archive::Manifest& manifest = d.experiment.manifest;
  Json configuration = Json::object();
  for (const auto& [name, value] : manifest.configuration) configuration[name] = value;
  return {{"directory", d.experiment.directory.string()},
          {"command", manifest.command},
          {"ranks", d.overview.ranks},
          {"missing_ranks", d.overview.missing_ranks},
          {"state", d.overview.state},
          {"version", manifest.version},
          {"executable", manifest.executable},
          {"working_directory", manifest.working_directory},
          {"started", manifest.started},
          {"ended", manifest.ended},
          {"hosts", d.overview.hosts},
          {"mpi_library", manifest.mpi_library},
          {"configuration", std::move(configuration)},
          {"sampling", {{"source", d.overview.sampling_source}, {"reason", d.overview.sampling_reason}}},
          {"subject", d.subject},
          {"notes", d.tree.notes}};
}

/// What Refrain's own work has cost, by class, as far as it was timed.
Json own_work(const Overview& overview) {
  Json of = Json::object();
  for (std::size_t i = 0; i < overview.own_times.size(); ++i)
    if (const OwnTimeLine& line = overview.own_times[i]; line.timed > 0)
      of[measurement::own_time_table[i].name] = {
          {"timed", line.timed}, {"mean_ns", line.mean_ns}, {"standard_error_ns", line.error_ns}};
  return of;
}

Json totals(const Document& d) {
  const analysis::Totals& t = d.tree.totals;
  Json losses = Json::object();
  for (const LossLine& loss : d.overview.losses)
    losses[loss.name] = loss.is_time ? Json(static_cast<double>(loss.count) * 1e-9) : Json(loss.count);
  return {{"wall_s", t.wall_s},
          {"mpi_s", t.mpi_s},
          {"user_s", t.user_s},
          {"overhead_s", t.refrain_s},
          {"measurement_off_s", t.stopped_s},
          {"not_on_cpu_s", t.not_on_cpu_s},
          {"not_on_cpu_low_s", t.not_on_cpu_low_s},
          {"not_on_cpu_high_s", t.not_on_cpu_high_s},
          {"not_on_cpu_uncertain", d.overview.not_on_cpu_uncertain},
          {"samples", t.ticks_user},
          {"ticks_in_mpi", t.ticks_mpi},
          {"ticks_lost", t.ticks_lost},
          {"mpi_calls", t.mpi_calls},
          {"cost_per_call", cost(d.overview.call_cost_ns)},
          {"cost_per_tick", cost(d.overview.tick_cost_ns)},
          {"own_work", own_work(d.overview)},
          {"losses", std::move(losses)}};
}

Json locations(const analysis::CallTree& tree) {
  Json list = Json::array();
  for (const auto& l : tree.locations) {
    list.push_back({{"rank", l.rank},
                    {"thread", l.thread},
                    {"name", l.name},
                    {"wall_s", l.wall_s},
                    {"mpi_s", l.mpi_s},
                    {"user_s", l.user_s},
                    {"overhead_s", l.refrain_s},
                    {"measurement_off_s", l.stopped_s},
                    {"not_on_cpu_s", l.not_on_cpu_s},
                    {"samples", l.samples}});
    if (!tree.extra_metrics.empty()) list.back()["metrics"] = extra(tree, l.extra);
  }
  return list;
}

Json callpaths(const Document& d) {
  Json list = Json::array();
  for (std::uint32_t i = 1; i < d.tree.nodes.size(); ++i) {
    const analysis::TreeNode& node = d.tree.nodes[i];
    Json entry = {{"id", i},
                  {"parent", node.parent},
                  {"path", path_to(d.tree, i)},
                  {"kind", name_of(node.kind)},
                  {"exclusive_s", node.exclusive_s},
                  {"inclusive_s", node.inclusive_s}};
    entry.update(counts(node.exclusive));
    entry.update({{"inclusive_min_s", node.spread.min},
                  {"inclusive_mean_s", node.spread.mean},
                  {"inclusive_max_s", node.spread.max},
                  {"inclusive_standard_error_s", node.standard_error_s}});
    if (!d.tree.extra_metrics.empty())
      entry["metrics"] = {{"exclusive", extra(d.tree, node.exclusive_extra)},
                          {"inclusive", extra(d.tree, node.inclusive_extra)}};
    if (node.marked) entry["region"] = {{"visits", node.mark_visits}, {"wall_s", node.mark_s}};
    if (d.options.callsites)
      entry.update({{"module", node.module}, {"file", node.file}, {"line", node.line}, {"offset", node.offset}});
    list.push_back(std::move(entry));
  }
  return list;
}

Json functions(const Document& d) {
  Json list = Json::array();
  for (const auto& f : d.functions) {
    Json entry = {{"function", f.name},
                  {"kind", name_of(f.kind)},
                  {"exclusive_s", f.exclusive_s},
                  {"inclusive_s", f.inclusive_s}};
    entry.update(counts(f.exclusive));
    if (!d.tree.extra_metrics.empty()) entry["metrics"] = {{"exclusive", extra(d.tree, f.exclusive_extra)}};
    list.push_back(std::move(entry));
  }
  return list;
}

Json communicators(const archive::Profile& profile) {
  Json list = Json::array();
  for (const auto& rank : profile.ranks)
    for (const auto& c : rank.communicators)
      list.push_back({{"on_rank", rank.rank},
                      {"id", c.id},
                      {"parent", c.parent},
                      {"ordinal", c.ordinal},
                      {"leader", c.leader},
                      {"rank", c.rank},
                      {"size", c.size},
                      {"remote_size", c.remote_size},
                      {"outside", c.members.outside()},
                      {"made", c.made},
                      {"name", c.name}});
  return list;
}

Json windows(const archive::Profile& profile) {
  const analysis::JobWindows job = analysis::match_windows(profile);
  Json list = Json::array();
  for (std::size_t r = 0; r < profile.ranks.size(); ++r) {
    const archive::Rank& rank = profile.ranks[r];
    for (std::size_t id = 0; id < rank.windows.size(); ++id) {
      const archive::Window& window = rank.windows[id];
      Json targets = Json::array();
      for (const auto& t : window.targets)
        targets.push_back({{"target", t.target},
                           {"world_rank", analysis::world_rank(rank, window, t.target)},
                           {"puts", t.puts},
                           {"bytes_put", t.bytes_put},
                           {"gets", t.gets},
                           {"bytes_got", t.bytes_got}});
      list.push_back({{"on_rank", rank.rank},
                      {"id", id},
                      {"window", job.of_rank[r][id]},
                      {"communicator", window.communicator},
                      {"kind", analysis::name_of(window.kind)},
                      {"made", window.made},
                      {"name", window.name},
                      {"targets", std::move(targets)}});
    }
  }
  return list;
}

}  // namespace

std::string json_report(const Document& d) {
  Json document = {{"experiment", experiment(d)},
                   {"totals", totals(d)},
                   {"locations", locations(d.tree)},
                   {"callpaths", callpaths(d)}};
  if (d.samples_recorded) document["experiment"]["samples_recorded"] = *d.samples_recorded;
  if (d.pool_samples)
    document["experiment"]["user_code_divided_by_samples"] = {{"least", d.pool_samples->least},
                                                              {"most", d.pool_samples->most}};
  if (!d.tree.extra_metrics.empty()) document["totals"]["metrics"] = extra(d.tree, d.tree.totals.extra);
  if (d.options.flat) document["functions"] = functions(d);
  if (d.loops != nullptr) document["loops"] = nullptr;  // written apart: it may be long
  document["communicators"] = communicators(d.experiment.profile);
  if (d.subject.empty()) document["windows"] = windows(d.experiment.profile);  // not known of a part

  // One line per element: readable, and searchable by line.
  std::string out = "{";
  const char* comma = "\n";
  for (const auto& [key, value] : document.items()) {
    out += comma + Json(key).dump() + ": ";
    comma = ",\n";
    if (key == "loops") {
      out += loops_json(d);
      continue;
    }
    if (!value.is_array()) {
      out += dump(value);
      continue;
    }
    out += "[";
    const char* inner = "\n  ";
    for (const auto& element : value) {
      out += inner + dump(element);
      inner = ",\n  ";
    }
    out += "]";
  }
  return out + "\n}\n";
}

}  // namespace refrain::report
