/// JSON lines as Extra-P reads them (extra-p/extrap, extrap/fileio/file_reader/jsonlines_file_reader.py): each is the
/// value of a metric at a call path for a point of the parameters. The only parameter is the number of processes, p.
/// Values are exclusive means over the processes in the run. Runs of the same size are repetitions.
///
/// `waiting` and `transfer`, the rest of the time in MPI, are written when the run has metrics of waiting.

#include "offline/export/formats.hpp"
#include "offline/export/run_of_experiment.hpp"
#include "offline/report/json_writer.hpp"

namespace refrain::exports {
namespace {

/// Extra-P separates caller and callee by "->".
std::string callpath_name(std::string name) {
  for (std::size_t at = 0; (at = name.find("->", at)) != std::string::npos; at += 3) name.insert(at + 1, " ");
  return name;
}

class ExtrapWriter {
 public:
  ExtrapWriter(Run& run, OutputFile& out) : run_(run), out_(out) {
    for (const std::string_view name :
         {wall_metric, mpi_metric, visits_metric, std::string_view("bytes_sent"), std::string_view("bytes_received")})
      if (const auto metric = run.metric(name)) plain_.push_back(*metric);
    chosen_ = plain_;
    for (std::size_t first = 0; first < run.locations().size(); first = end_of_rank(run, first)) ++ranks_;
    for (const std::string_view kind : kinds_of_waiting())
      if (const auto metric = run.metric(kind)) chosen_.push_back(*metric);
  }

  void write() {
    const std::size_t columns = chosen_.size();
    const std::vector<double> sums = sums_of(run_, 0, run_.locations().size(), chosen_);
    std::vector<std::string> paths;
    for (std::size_t node = 0; node < run_.nodes().size(); ++node) {
      const RunNode& of = run_.nodes()[node];
      const std::string above = of.parent < 0 ? "" : paths[static_cast<std::size_t>(of.parent)] + "->";
      paths.push_back(above + callpath_name(of.name));
      const std::span<const double> row = std::span(sums).subspan(node * columns, columns);
      double mpi = 0, waiting = 0;
      for (std::size_t m = 0; m < columns; ++m) {
        const run::Metric& metric = run_.metrics()[chosen_[m]];
        if (metric.unit != "s" && of.kind != RunNode::Mpi) continue;  // calls of other functions are not counted
        if (metric.name == mpi_metric) mpi = row[m];
        if (m >= plain_.size()) waiting += row[m];
        else write_value(paths.back(), metric.name == wall_metric ? "time" : metric.name, row[m]);
      }
      if (of.kind != RunNode::Mpi || plain_.size() == columns) continue;
      write_value(paths.back(), "waiting", waiting);
      write_value(paths.back(), "transfer", mpi - waiting);
    }
  }

 private:
  void write_value(const std::string& path, std::string_view metric, double sum) {
    std::string line;
    report::JsonWriter json(line);
    json.object([&] {
      json.member_object("params", [&] { json.member("p", run_.facts().processes); });
      json.member("callpath", path);
      json.member("metric", metric);
      json.member("value", sum / static_cast<double>(std::max<std::size_t>(ranks_, 1)));
    });
    json.end_document();
    out_.write(line);
  }

  Run& run_;
  OutputFile& out_;
  std::size_t ranks_ = 0;            ///< number of ranks in the run; some processes may be missing
  std::vector<std::size_t> plain_;   ///< metrics that are written as they are
  std::vector<std::size_t> chosen_;  ///< plain_, then kinds of waiting
};

}  // namespace

void write_extrap(Run& run, OutputFile& out) { ExtrapWriter(run, out).write(); }

}  // namespace refrain::exports
