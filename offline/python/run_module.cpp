// The Python module refrain._run: the data of an experiment as columns, and its reports as JSON. The files of package/
// make data frames from them.
#include <algorithm>
#include <map>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "offline/export/run_of_experiment.hpp"
#include "offline/python/columns.hpp"
#include "offline/python/values.hpp"
#include "offline/report/difference.hpp"
#include "offline/report/loop_view.hpp"
#include "offline/report/views.hpp"
#include "offline/run/iterations.hpp"
#include "offline/symbols/experiment_names.hpp"

namespace py = pybind11;

namespace refrain::python {
namespace {

/// How the locations of a table are grouped.
enum class By : std::uint8_t { Run, Host, Rank, Thread };

By by_of(const std::string& word) {
  const std::map<std::string, By> words{{"", By::Run}, {"host", By::Host}, {"rank", By::Rank}, {"thread", By::Thread}};
  const auto at = words.find(word);
  if (at == words.end()) throw py::value_error("by: None, 'host', 'rank' or 'thread', not '" + word + "'");
  return at->second;
}

/// A view by its option without dashes: "mpi", "waits". Throws UsageError.
report::Request request_of_view(const std::string& view, const std::string& subject) {
  report::Request request;
  request.format = report::Format::Json;
  request.subject = subject;
  if (view.empty()) return request;
  std::string known;
  for (const report::View& of : report::views()) {
    if (*of.option == '\0') continue;
    if ("--" + view == of.option) {
      request.views = {of.show};
      return request;
    }
    known += (known.empty() ? "" : ", ") + std::string(of.option + 2);
  }
  throw report::UsageError("there is no view " + view + "; views are " + known);
}

class NativeRun {
 public:
  explicit NativeRun(const std::filesystem::path& path) : experiment_(experiment::Experiment::open(path)) {
    symbols::use_names(*experiment_, symbolizer_);
  }

  py::dict facts() {
    const exports::RunFacts& of = run().facts();
    py::dict facts;
    facts["program"] = text(of.program);
    facts["processes"] = of.processes;
    facts["locations"] = run().locations().size();
    facts["directory"] = text(experiment_->directory().string());
    return facts;
  }

  /// The parents of the nodes, -1 at the top, their kinds and their names.
  py::tuple nodes() {
    Integers parents;
    py::list kinds, names;
    constexpr const char* words[] = {"function", "mpi", "mark", "other"};
    for (const exports::RunNode& node : run().nodes()) {
      parents.add(node.parent);
      kinds.append(words[node.kind]);
      names.append(text(node.name));
    }
    return py::make_tuple(std::move(parents), kinds, names);
  }

  py::list locations() {
    py::list all;
    for (const exports::RunLocation& of : run().locations()) {
      py::dict location;
      location["rank"] = of.rank;
      location["thread"] = of.thread;
      location["name"] = text(of.name);
      location["host"] = text(of.host);
      all.append(location);
    }
    return all;
  }

  py::list metrics() {
    py::list all;
    for (const run::Metric& of : run().metrics()) {
      py::dict metric;
      metric["name"] = of.name;
      metric["unit"] = of.unit;
      metric["parent"] = of.parent < 0 ? py::object(py::none())
                                       : py::object(py::str(run().metrics()[static_cast<std::size_t>(of.parent)].name));
      metric["help"] = text(of.help);
      all.append(metric);
    }
    return all;
  }

  /// A row for each node and group of locations where any of the metrics is not 0: node, the first location of the
  /// group, and the values.
  py::tuple call_paths(const std::string& by, const std::vector<std::string>& metrics, bool inclusive) {
    std::vector<std::size_t> chosen;
    for (const std::string& name : metrics) {
      const auto at = run().metric(name);
      if (!at) throw py::value_error("there is no metric " + name + " of call paths (Run.metrics)");
      chosen.push_back(*at);
    }
    Integers nodes, firsts;
    std::vector<Reals> values(chosen.size());
    for (const auto& [first, members] : groups_of(by_of(by))) {
      std::vector<double> sums(run().nodes().size() * chosen.size());
      for (const std::size_t location : members) {
        const auto of_one = exports::sums_of(run(), location, location + 1, chosen);
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += of_one[i];
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      }
      if (inclusive) exports::add_below(run(), sums, chosen.size());
      for (std::size_t node = 0; node < run().nodes().size(); ++node) {
        const std::span<const double> row = std::span(sums).subspan(node * chosen.size(), chosen.size());
        if (std::ranges::all_of(row, [](double value) { return value == 0; })) continue;
        nodes.add(static_cast<std::int64_t>(node));
        firsts.add(static_cast<std::int64_t>(first));
        for (std::size_t m = 0; m < row.size(); ++m) values[m].add(row[m]);
      }
    }
    return py::make_tuple(std::move(nodes), std::move(firsts), columns(std::move(values)));
  }

  /// The names of the loops, and their numbers of iterations.
  py::list loops() {
    py::list all;
    for (const report::LoopGroup& of : loops_of("").groups) all.append(py::make_tuple(text(of.name), of.iterations));
    return all;
  }

  /// Iteration, rank, thread, cluster, and values by name of the column.
  py::dict iterations(const std::string& loop, const std::optional<std::vector<std::string>>& wanted) {
    const report::LoopView view = loops_of(loop);
    if (view.groups.empty()) throw report::UsageError("no loop is marked in this experiment");
    if (view.groups.size() > 1) throw report::UsageError("there are several loops (Run.loops): name one of them");
    const std::vector<run::Metric> metrics = metrics_of(view, wanted);
    Integers iterations, ranks, threads, clusters;
    std::vector<Reals> values(metrics.size());
    for (const report::LoopPlace& of : view.groups[0].locations) {
      const auto open = view.open(*experiment_, of);
      if (!open) continue;
      std::vector<run::IterationValue> of_metrics;
      for (const auto& metric : metrics) of_metrics.push_back(value_of_metric(*open->profiles, metric.name));
      run::for_each_iteration(
          open->loop(), [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
            if (open->was_absent(cluster, row)) return;
            iterations.add(i);
            ranks.add(of.rank);
            threads.add(of.thread);
            clusters.add(cluster);
            for (std::size_t m = 0; m < metrics.size(); ++m)
              values[m].add(of_metrics[m] ? of_metrics[m](i, cluster, row) : std::numeric_limits<double>::quiet_NaN());
          });
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
    py::dict all;
    all["iteration"] = std::move(iterations);
    all["rank"] = std::move(ranks);
    all["thread"] = std::move(threads);
    all["cluster"] = std::move(clusters);
    for (std::size_t m = 0; m < metrics.size(); ++m) all[py::str(metrics[m].column())] = std::move(values[m]);
    return all;
  }

  /// A document of `refrain report --format json`.
  std::string report(const std::string& view, const std::string& subject, const std::string& region) {
    report::Request request = request_of_view(view, subject);
    request.region = region;
    std::string document;
    report::Source source{experiment_, symbolizer_};
    if (request.needs_search())
      source.search = [this](const report::UsualProfile* known) { return report::found_in(*experiment_, {}, known); };
    render(source, request, {}, [&](std::string_view piece) { document += piece; });
    return document;
  }

  /// The document of `refrain report BEFORE NOW --format json`.
  std::string difference(NativeRun& now) {
    report::Request request;
    request.format = report::Format::Json;
    std::string document;
    const auto to_compare = [&](const NativeRun& of) -> report::RunToCompare {
      report::Found found = report::found_in(*of.experiment_);
      return {report::compared_run(of.experiment_, request, {}, symbolizer_), std::move(found.findings),
              found.not_searched.empty()};
    };
    symbols::use_names(*now.experiment_, symbolizer_);
    render_difference(to_compare(*this), to_compare(now), request, {},
                      [&](std::string_view piece) { document += piece; });
    return document;
  }

  py::list damage() const { return texts(experiment_->damage()); }

 private:
  /// Reads all ranks once, at the first call.
  exports::Run& run() {
    if (!run_) run_ = exports::run_of_experiment(experiment_, REFRAIN_VERSION);
    return *run_;
  }

  /// The locations of each group by its first location, in ascending order.
  std::map<std::size_t, std::vector<std::size_t>> groups_of(By by) {
    std::map<std::size_t, std::vector<std::size_t>> groups;
    std::map<std::string, std::size_t> first_of;
    const auto& locations = run().locations();
    for (std::size_t i = 0; i < locations.size(); ++i) {
      std::string key;
      if (by == By::Host) key = locations[i].host;
      if (by == By::Rank) key = std::to_string(locations[i].rank);
      if (by == By::Thread) key = std::to_string(i);
      groups[first_of.try_emplace(key, i).first->second].push_back(i);
    }
    return groups;
  }

  static py::list columns(std::vector<Reals> values) {
    py::list all;
    for (Reals& of : values) all.append(std::move(of));
    return all;
  }

  report::LoopView loops_of(const std::string& loop) {
    report::Request request = request_of_view("iterations", "");
    request.loop = loop;
    return view_loops({experiment_, symbolizer_}, request, {});
  }

  /// Throws ValueError for unknown names.
  static std::vector<run::Metric> metrics_of(const report::LoopView& view,
                                             const std::optional<std::vector<std::string>>& wanted) {
    if (!wanted) return view.metrics;
    std::vector<run::Metric> metrics;
    for (const std::string& name : *wanted) {
      const auto at = std::ranges::find_if(
          view.metrics, [&](const run::Metric& of) { return of.name == name || of.column() == name; });
      if (at == view.metrics.end()) throw py::value_error("iterations have no metric " + name);
      metrics.push_back(*at);
    }
    return metrics;
  }

  std::shared_ptr<const experiment::Experiment> experiment_;
  symbols::Symbolizer symbolizer_;
  std::unique_ptr<exports::Run> run_;
};

}  // namespace
}  // namespace refrain::python

PYBIND11_MODULE(_run, module) {
  using namespace refrain::python;
  module.doc() = "What an experiment has, for the classes of the package refrain.";
  py::register_local_exception<refrain::experiment::ReadError>(module, "ReadError", PyExc_OSError);
  py::register_local_exception<refrain::report::UsageError>(module, "UsageError", PyExc_ValueError);
  define_column<Integers>(module, "Integers", "Whole numbers of 64 bits.");
  define_column<Reals>(module, "Reals", "Numbers of double precision.");
  py::class_<NativeRun>(module, "NativeRun")
      .def(py::init<const std::filesystem::path&>(), py::arg("path"))
      .def("facts", &NativeRun::facts)
      .def("nodes", &NativeRun::nodes)
      .def("locations", &NativeRun::locations)
      .def("metrics", &NativeRun::metrics)
      .def("call_paths", &NativeRun::call_paths, py::arg("by"), py::arg("metrics"), py::arg("inclusive"))
      .def("loops", &NativeRun::loops)
      .def("iterations", &NativeRun::iterations, py::arg("loop"), py::arg("metrics"))
      .def("report", &NativeRun::report, py::arg("view"), py::arg("subject"), py::arg("region"))
      .def("difference", &NativeRun::difference, py::arg("now"))
      .def("damage", &NativeRun::damage);
}
