/// The input of Hatchet's JSON reader (LLNL/hatchet, hatchet/readers/json_reader.py): a graph of nodes, and a data
/// frame with a row for each node and rank. Readers compute no inclusive values: these are written, too, with "(inc)"
/// after their names.

#include <string>

#include "offline/export/formats.hpp"
#include "offline/report/json_writer.hpp"

namespace refrain::exports {
namespace {

constexpr const char* hatchet_kinds[] = {"function", "mpi", "region", "other"};

/// Hatchet looks for a metric "time".
std::string hatchet_name(const run::Metric& metric) { return metric.name == wall_metric ? "time" : metric.name; }

class HatchetWriter {
 public:
  HatchetWriter(Run& run, OutputFile& out)
      : run_(run), json_([&out](std::string_view text) { out.write(text); }, 2), chosen_(run.metrics().size()) {
    for (std::size_t m = 0; m < chosen_.size(); ++m) chosen_[m] = m;
  }

  void write() {
    json_.object([&] {
      json_.member("schema", 1);
      json_.member("creator", run_.facts().creator);
      json_.member_array("graph", [&] { json_.object([&] { write_graph(); }); });
      json_.member_array("dataframe", [&] {
        for (std::size_t first = 0; first < run_.locations().size();) {
          const std::size_t end = end_of_rank(run_, first);
          write_rank(first, end);
          first = end;
        }
      });
      json_.member_array("dataframe_indices", [&] {
        json_.value("node");
        json_.value("rank");
      });
      write_names("exclusive_metrics", "");
      write_names("inclusive_metrics", " (inc)");
    });
    json_.end_document();
  }

 private:
  void write_graph() {
    for (std::uint32_t node = 0; node < run_.nodes().size(); ++node) {
      const RunNode& of = run_.nodes()[node];
      json_.member_object(std::to_string(node), [&] {
        json_.member_object("data", [&] {
          json_.member("name", of.name);
          json_.member("type", hatchet_kinds[of.kind]);
        });
        json_.member_array("children", [&] {
          for (std::uint32_t child = node + 1; child < of.end; child = run_.nodes()[child].end) json_.value(child);
        });
      });
    }
  }

  void write_rank(std::size_t first, std::size_t end) {
    const std::size_t columns = chosen_.size();
    const std::vector<double> exclusive = sums_of(run_, first, end, chosen_);
    std::vector<double> inclusive = exclusive;
    add_below(run_, inclusive, columns);
    for (std::uint32_t node = 0; node < run_.nodes().size(); ++node)
      json_.object([&] {
        json_.member("node", node);
        json_.member("rank", run_.locations()[first].rank);
        json_.member("name", run_.nodes()[node].name);
        for (std::size_t m = 0; m < columns; ++m) {
          const std::string name = hatchet_name(run_.metrics()[m]);
          json_.member(name, exclusive[node * columns + m]);
          json_.member(name + " (inc)", inclusive[node * columns + m]);
        }
      });
  }

  void write_names(const char* member, const char* ending) {
    json_.member_array(member, [&] {
      for (const run::Metric& metric : run_.metrics()) json_.value(hatchet_name(metric) + ending);
    });
  }

  Run& run_;
  report::JsonWriter json_;
  std::vector<std::size_t> chosen_;  ///< all metrics
};

}  // namespace

void write_hatchet(Run& run, OutputFile& out) { HatchetWriter(run, out).write(); }

}  // namespace refrain::exports
