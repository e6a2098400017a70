#include "offline/analysis/iteration_metrics.hpp"
#include "offline/analysis/windows.hpp"
#include "offline/report/json_writer.hpp"
#include "offline/report/loop_view.hpp"
#include "offline/report/overview.hpp"

namespace refrain::report {
namespace {

void counts(JsonWriter& json, const analysis::Counts& c) {
  for (const auto& column : analysis::count_columns) json.member(column.name, c.*column.value);
}

/// The metrics that the user has asked for.
void extra(JsonWriter& json, std::string_view name, const analysis::CallTree& tree,
           const std::vector<std::int64_t>& values) {
  json.member_object(name, [&] {
    for (std::size_t m = 0; m < tree.extra_metrics.size(); ++m) {
      const auto& [metric, unit] = tree.extra_metrics[m];
      const std::string column = analysis::metric_of(metric, unit).column;
      const double divisor = analysis::divisor_of(unit);
      if (divisor == 1) json.member(column, values[m]);
      else json.member(column, static_cast<double>(values[m]) / divisor);
    }
  });
}

void experiment(JsonWriter& json, const Document& d) {
  const experiment::Manifest& manifest = d.experiment.manifest;
  json.member_object("experiment", [&] {
    json.member("directory", d.experiment.directory.string());
    json.member("command", manifest.command);
    json.member("ranks", d.overview.ranks);
    json.member("missing_ranks", d.overview.missing_ranks);
    json.member("state", d.overview.state);
    json.member("version", manifest.version);
    json.member("executable", manifest.executable);
    json.member("working_directory", manifest.working_directory);
    json.member("started", manifest.started);
    json.member("ended", manifest.ended);
    json.member("hosts", d.overview.hosts);
    json.member("mpi_library", manifest.mpi_library);
    json.member_object("configuration", [&] {
      for (const auto& [name, value] : manifest.configuration) json.member(name, value);
    });
    json.member_object("sampling", [&] {
      json.member("source", d.overview.sampling_source);
      json.member("reason", d.overview.sampling_reason);
    });
    json.member("subject", d.subject);
    json.member("notes", d.tree.notes);
    if (d.reconstructed) json.member("reconstructed", *d.reconstructed);
    if (d.samples_recorded) json.member("samples_recorded", *d.samples_recorded);
    if (d.pool_samples)
      json.member_object("user_code_divided_by_samples", [&] {
        json.member("least", d.pool_samples->least);
        json.member("most", d.pool_samples->most);
      });
  });
}

void cost(JsonWriter& json, std::string_view name, const experiment::Cost& c) {
  json.member_object(name, [&] {
    json.member("median_ns", c.median);
    json.member("low_ns", c.low);
    json.member("high_ns", c.high);
  });
}

/// What Refrain's own work has cost, by class, as far as it was timed.
void own_work(JsonWriter& json, const Overview& overview) {
  json.member_object("own_work", [&] {
    for (std::size_t i = 0; i < overview.own_times.size(); ++i)
      if (const OwnTimeLine& line = overview.own_times[i]; line.timed > 0)
        json.member_object(format::own_time_table[i].name, [&] {
          json.member("timed", line.timed);
          json.member("mean_ns", line.mean_ns);
          json.member("standard_error_ns", line.error_ns);
        });
  });
}

void totals(JsonWriter& json, const Document& d) {
  const analysis::Totals& t = d.tree.totals;
  json.member_object("totals", [&] {
    json.member("wall_s", t.wall_s);
    json.member("mpi_s", t.mpi_s);
    json.member("user_s", t.user_s);
    json.member("overhead_s", t.refrain_s);
    json.member("measurement_off_s", t.stopped_s);
    json.member("not_on_cpu_s", t.not_on_cpu_s);
    json.member("not_on_cpu_low_s", t.not_on_cpu_low_s);
    json.member("not_on_cpu_high_s", t.not_on_cpu_high_s);
    json.member("not_on_cpu_uncertain", d.overview.not_on_cpu_uncertain);
    json.member("samples", t.ticks_user);
    json.member("ticks_in_mpi", t.ticks_mpi);
    json.member("ticks_lost", t.ticks_lost);
    json.member("mpi_calls", t.mpi_calls);
    cost(json, "cost_per_call", d.overview.call_cost_ns);
    cost(json, "cost_per_tick", d.overview.tick_cost_ns);
    own_work(json, d.overview);
    json.member_object("losses", [&] {
      for (const LossLine& loss : d.overview.losses) {
        if (loss.is_time) json.member(loss.name, static_cast<double>(loss.count) * 1e-9);
        else json.member(loss.name, loss.count);
      }
    });
    if (!d.tree.extra_metrics.empty()) extra(json, "metrics", d.tree, t.extra);
  });
}

void locations(JsonWriter& json, const analysis::CallTree& tree) {
  json.member_array("locations", [&] {
    for (const auto& l : tree.locations)
      json.object([&] {
        json.member("rank", l.rank);
        json.member("thread", l.thread);
        json.member("name", l.name);
        json.member("wall_s", l.wall_s);
        json.member("mpi_s", l.mpi_s);
        json.member("user_s", l.user_s);
        json.member("overhead_s", l.refrain_s);
        json.member("measurement_off_s", l.stopped_s);
        json.member("not_on_cpu_s", l.not_on_cpu_s);
        json.member("samples", l.samples);
        if (!tree.extra_metrics.empty()) extra(json, "metrics", tree, l.extra);
      });
  });
}

void callpaths(JsonWriter& json, const Document& d) {
  json.member_array("callpaths", [&] {
    for (std::uint32_t i = 1; i < d.tree.nodes.size(); ++i) {
      const analysis::TreeNode& node = d.tree.nodes[i];
      json.object([&] {
        json.member("id", i);
        json.member("parent", node.parent);
        json.member("path", path_to(d.tree, i));
        json.member("kind", name_of(node.kind));
        json.member("exclusive_s", node.exclusive_s);
        json.member("inclusive_s", node.inclusive_s);
        counts(json, node.exclusive);
        json.member("inclusive_min_s", node.spread.min);
        json.member("inclusive_mean_s", node.spread.mean);
        json.member("inclusive_max_s", node.spread.max);
        json.member("inclusive_standard_error_s", node.standard_error_s);
        if (!d.tree.extra_metrics.empty())
          json.member_object("metrics", [&] {
            extra(json, "exclusive", d.tree, node.exclusive_extra);
            extra(json, "inclusive", d.tree, node.inclusive_extra);
          });
        if (node.marked)
          json.member_object("region", [&] {
            json.member("visits", node.mark_visits);
            json.member("wall_s", node.mark_s);
          });
        if (!d.options.callsites) return;
        json.member("module", node.module);
        json.member("file", node.file);
        json.member("line", node.line);
        json.member("offset", node.offset);
      });
    }
  });
}

void functions(JsonWriter& json, const Document& d) {
  json.member_array("functions", [&] {
    for (const auto& f : d.functions)
      json.object([&] {
        json.member("function", f.name);
        json.member("kind", name_of(f.kind));
        json.member("exclusive_s", f.exclusive_s);
        json.member("inclusive_s", f.inclusive_s);
        counts(json, f.exclusive);
        if (!d.tree.extra_metrics.empty())
          json.member_object("metrics", [&] { extra(json, "exclusive", d.tree, f.exclusive_extra); });
      });
  });
}

void communicators(JsonWriter& json, const experiment::Profile& profile) {
  json.member_array("communicators", [&] {
    for (const auto& rank : profile.ranks)
      for (const auto& c : rank.communicators)
        json.object([&] {
          json.member("on_rank", rank.rank);
          json.member("id", c.id);
          json.member("parent", c.parent);
          json.member("ordinal", c.ordinal);
          json.member("leader", c.leader);
          json.member("rank", c.rank);
          json.member("size", c.size);
          json.member("remote_size", c.remote_size);
          json.member("outside", c.members.outside());
          json.member("made", c.made);
          json.member("name", c.name);
        });
  });
}

void windows(JsonWriter& json, const experiment::Profile& profile) {
  const analysis::JobWindows job = analysis::match_windows(profile);
  json.member_array("windows", [&] {
    for (std::size_t r = 0; r < profile.ranks.size(); ++r) {
      const experiment::Rank& rank = profile.ranks[r];
      for (std::size_t id = 0; id < rank.windows.size(); ++id) {
        const experiment::Window& window = rank.windows[id];
        json.object([&] {
          json.member("on_rank", rank.rank);
          json.member("id", id);
          json.member("window", job.of_rank[r][id]);
          json.member("communicator", window.communicator);
          json.member("kind", analysis::name_of(window.kind));
          json.member("made", window.made);
          json.member("name", window.name);
          json.member_array("targets", [&] {
            for (const auto& t : window.targets)
              json.object([&] {
                json.member("target", t.target);
                json.member("world_rank", analysis::world_rank(rank, window, t.target));
                json.member("puts", t.puts);
                json.member("bytes_put", t.bytes_put);
                json.member("gets", t.gets);
                json.member("bytes_got", t.bytes_got);
              });
          });
        });
      }
    }
  });
}

}  // namespace

std::string json_report(const Document& d) {
  std::string out;
  // One line per element: readable, and searchable by line.
  JsonWriter json(out, 2);
  json.object([&] {
    experiment(json, d);
    totals(json, d);
    locations(json, d.tree);
    callpaths(json, d);
    if (d.options.flat) functions(json, d);
    if (d.loops != nullptr) loops_json(json, d);
    communicators(json, d.experiment.profile);
    if (d.subject.empty()) windows(json, d.experiment.profile);  // not known of a part
  });
  return out + "\n";
}

}  // namespace refrain::report
