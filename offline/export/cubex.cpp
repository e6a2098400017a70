/// The profile format of CUBE 4, as offline/database/cubex_file.hpp describes it: a tar archive of anchor.xml and, for
/// each metric, an index of the call paths that have values, and these values.
///
/// Readers (CubeLib, pyCubexR) require one root of the call tree and one of the system tree, valid tar checksums, and
/// an index of at least one row; rows of exclusive metrics are numbered depth first. Here ids are these numbers.
/// Topologies are written as CubeLib's Cartesian::writeXML does. An experiment does not have the program's own grids,
/// so the topologies are those of the system: processes by threads, as Score-P has it, and machines by processes by
/// threads.

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <initializer_list>
#include <map>
#include <numeric>

#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/tar_file.hpp"
#include "offline/export/formats.hpp"
#include "offline/export/scalasca_names.hpp"
#include "offline/export/value_scratch.hpp"

namespace refrain::exports {
namespace {

using experiment::xml_text;

constexpr std::size_t most_of_member = std::size_t{8} << 30;  // readers accept sizes of 11 octal digits

void begin_member(OutputFile& out, const std::string& name, std::size_t size) {
  if (size >= most_of_member) throw ExportError(out.path().string() + ": more than 8 GiB of values of one metric");
  out.write(experiment::tar_head(name, size));
}

template <class T>
std::string_view raw_bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

class CubexWriter {
 public:
  CubexWriter(Run& run, OutputFile& out)
      : run_(run),
        out_(out),
        rows_(run.nodes().size() + 1),
        values_(out.open_scratch(), run.metrics().size() * rows_, run.locations().size()) {}

  void write() {
    order_locations();
    for (std::size_t column = 0; column < order_.size(); ++column)
      run_.for_each_node(order_[column], [&](std::uint32_t node, std::span<const double> by_metric) {
        for (std::size_t m = 0; m < by_metric.size(); ++m) values_.add(column, row_of(m, node + 1), by_metric[m]);
      });
    values_.finish();
    find_kept_metrics();
    const std::string anchor = this->anchor();
    begin_member(out_, "anchor.xml", anchor.size());
    out_.write(anchor);
    out_.write(experiment::tar_padding(anchor.size()));
    for (std::size_t m = 0; m < run_.metrics().size(); ++m)
      if (is_kept_[m]) write_values(m);
    out_.write(experiment::tar_end());
  }

 private:
  std::size_t row_of(std::size_t metric, std::size_t cnode) const { return metric * rows_ + cnode; }

  /// Columns are in the order of locations in the document, where those of a machine are adjacent.
  void order_locations() {
    std::map<std::string_view, std::size_t> host_of;
    for (const RunLocation& location : run_.locations()) host_of.try_emplace(location.host, host_of.size());
    order_.resize(run_.locations().size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {}, [&](std::size_t at) { return host_of[run_.locations()[at].host]; });
  }

  /// Keeps the metrics that have values, and their ancestors. Wall time is always kept.
  void find_kept_metrics() {
    const auto& metrics = run_.metrics();
    is_kept_.assign(metrics.size(), false);
    for (std::size_t m = metrics.size(); m-- > 0;) {
      bool kept = is_kept_[m] || metrics[m].name == wall_metric;
      for (std::size_t cnode = 0; cnode < rows_ && !kept; ++cnode) kept = values_.has(row_of(m, cnode));
      is_kept_[m] = kept;
      if (kept && metrics[m].parent >= 0) is_kept_[static_cast<std::size_t>(metrics[m].parent)] = true;
    }
  }

  void add_metrics(std::string& text, int parent) const {
    for (std::size_t m = 0; m < run_.metrics().size(); ++m) {
      const run::Metric& metric = run_.metrics()[m];
      if (!is_kept_[m] || metric.parent != parent) continue;
      const ScalascaMetric* known = scalasca_metric(metric.name);
      text += fmt::format(
          "<metric id=\"{}\" type=\"EXCLUSIVE\"><disp_name>{}</disp_name><uniq_name>{}</uniq_name><dtype>DOUBLE</dtype>"
          "<uom>{}</uom><url></url><descr>{}</descr>\n",
          m, xml_text(known ? known->title : metric.name), xml_text(known ? known->name : metric.name),
          metric.unit == "s"   ? "sec"
          : metric.unit == "B" ? "bytes"
                               : "occ",
          xml_text(metric.help));
      add_metrics(text, static_cast<int>(m));
      text += "</metric>\n";
    }
  }

  /// Adds the regions, then the call paths, below that of the program.
  void add_program(std::string& text) const {
    std::map<std::pair<RunNode::Kind, std::string_view>, std::size_t> region_of;
    const auto add_region = [&](std::size_t id, std::string_view name, const char* paradigm, const char* role) {
      text += fmt::format(
          "<region id=\"{0}\" mod=\"\" begin=\"-1\" end=\"-1\"><name>{1}</name><mangled_name>{1}</mangled_name>"
          "<paradigm>{2}</paradigm><role>{3}</role><url></url><descr></descr></region>\n",
          id, xml_text(name), paradigm, role);
    };
    add_region(0, run_.facts().program, "measurement", "program");
    for (const RunNode& node : run_.nodes())
      if (region_of.try_emplace({node.kind, node.name}, region_of.size() + 1).second)
        add_region(region_of.size(), node.name, scalasca_paradigm(node.kind), scalasca_role(node));
    text += "<cnode id=\"0\" calleeId=\"0\">\n";
    std::vector<std::uint32_t> open;  // ends of the call paths that are open
    for (std::uint32_t at = 0; at < run_.nodes().size(); ++at) {
      for (; !open.empty() && open.back() <= at; open.pop_back()) text += "</cnode>\n";
      const RunNode& node = run_.nodes()[at];
      text += fmt::format("<cnode id=\"{}\" calleeId=\"{}\">\n", at + 1, region_of.at({node.kind, node.name}));
      open.push_back(node.end);
    }
    for (std::size_t i = 0; i < open.size(); ++i) text += "</cnode>\n";
    text += "</cnode>\n";
  }

  void add_system(std::string& text) const {
    text += "<systemtreenode Id=\"0\"><name>machine</name><class>machine</class>\n";
    std::size_t hosts = 0, groups = 0;
    for (std::size_t column = 0; column < order_.size(); ++column) {
      const RunLocation& location = run_.locations()[order_[column]];
      const RunLocation* before = column == 0 ? nullptr : &run_.locations()[order_[column - 1]];
      const bool is_new_host = !before || before->host != location.host;
      const bool is_new_rank = is_new_host || before->rank != location.rank;
      if (before && is_new_rank) text += "</locationgroup>\n";
      if (before && is_new_host) text += "</systemtreenode>\n";
      if (is_new_host)
        text += fmt::format("<systemtreenode Id=\"{}\"><name>node {}</name><class>node</class>\n", ++hosts,
                            xml_text(location.host));
      if (is_new_rank)
        text += fmt::format("<locationgroup Id=\"{0}\"><name>MPI Rank {1}</name><rank>{1}</rank><type>process</type>\n",
                            groups++, location.rank);
      text += fmt::format("<location Id=\"{}\"><name>{}</name><rank>{}</rank><type>thread</type></location>\n", column,
                          xml_text(location.name), location.thread);
    }
    if (!order_.empty()) text += "</locationgroup>\n</systemtreenode>\n";
    text += "</systemtreenode>\n";
    add_topologies(text);
  }

  /// Threads are counted within their process, and processes within their machine, since gaps in the numbers would make
  /// empty cells. Ranks without data leave their cells empty.
  void add_topologies(std::string& text) const {
    using Place = std::array<std::int64_t, 3>;  // machine, process on it, thread of the process
    std::vector<Place> places;
    std::int64_t processes = run_.facts().processes;
    Place size{};
    for (std::size_t column = 0; column < order_.size(); ++column) {
      const RunLocation& location = run_.locations()[order_[column]];
      Place at{};
      if (column > 0) {
        const RunLocation& before = run_.locations()[order_[column - 1]];
        const auto& [machine, process, thread] = places.back();
        if (before.host != location.host) at = {machine + 1, 0, 0};
        else if (before.rank != location.rank) at = {machine, process + 1, 0};
        else at = {machine, process, thread + 1};
      }
      processes = std::max<std::int64_t>(processes, location.rank + 1);
      for (std::size_t d = 0; d < at.size(); ++d) size[d] = std::max(size[d], at[d] + 1);
      places.push_back(at);
    }
    text += "<topologies>\n";
    if (!places.empty()) {
      add_cartesian(text, "Process x Thread", {{"Process", processes}, {"Thread", size[2]}}, [&](std::size_t column) {
        return fmt::format("{} {}", run_.locations()[order_[column]].rank, places[column][2]);
      });
      if (size[0] > 1)
        add_cartesian(text, "Node x Process x Thread", {{"Node", size[0]}, {"Process", size[1]}, {"Thread", size[2]}},
                      [&](std::size_t column) { return fmt::format("{}", fmt::join(places[column], " ")); });
    }
    text += "</topologies>\n";
  }

  struct CartesianDimension {
    const char* name;
    std::int64_t size;
  };
  /// `coordinates_of`: the coordinates of the location of a column.
  void add_cartesian(std::string& text, const char* name, std::initializer_list<CartesianDimension> dimensions,
                     const std::function<std::string(std::size_t column)>& coordinates_of) const {
    text += fmt::format("<cart name=\"{}\" ndims=\"{}\">\n", name, dimensions.size());
    for (const auto& [dimension, size] : dimensions)
      text += fmt::format("<dim name=\"{}\" size=\"{}\" periodic=\"false\"/>\n", dimension, size);
    for (std::size_t column = 0; column < order_.size(); ++column)
      text += fmt::format("<coord locId=\"{}\">{}</coord>\n", column, coordinates_of(column));
    text += "</cart>\n";
  }

  std::string anchor() const {
    std::string text = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cube version=\"4.4\">\n<attr key=\"Creator\" value=\"{}\"/>\n"
        "<attr key=\"Refrain schema\" value=\"1\"/>\n<attr key=\"CUBE_CT_AGGR\" value=\"SUM\"/>\n"
        "<doc><mirrors></mirrors></doc>\n<metrics>\n",
        xml_text(run_.facts().creator));
    add_metrics(text, -1);
    text += "</metrics>\n<program>\n";
    add_program(text);
    text += "</program>\n<system>\n";
    add_system(text);
    return text + "</system>\n</cube>\n";
  }

  void write_values(std::size_t metric) {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t cnode = 0; cnode < rows_; ++cnode)
      if (values_.has(row_of(metric, cnode))) kept.push_back(cnode);
    if (kept.empty()) kept.push_back(0);
    std::string index("CUBEX.INDEX");
    index += raw_bytes(std::uint32_t{1});
    index += raw_bytes(std::uint16_t{0});
    index += '\1';
    index += raw_bytes(static_cast<std::uint32_t>(kept.size()));
    for (const std::uint32_t cnode : kept) index += raw_bytes(cnode);
    begin_member(out_, fmt::format("{}.index", metric), index.size());
    out_.write(index);
    out_.write(experiment::tar_padding(index.size()));
    constexpr std::string_view head = "CUBEX.DATA";
    const std::size_t size = head.size() + kept.size() * order_.size() * sizeof(double);
    begin_member(out_, fmt::format("{}.data", metric), size);
    out_.write(head);
    for (const std::uint32_t cnode : kept) {
      const std::span<const double> row = values_.row(row_of(metric, cnode));
      out_.write({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
    }
    out_.write(experiment::tar_padding(size));
  }

  Run& run_;
  OutputFile& out_;
  std::size_t rows_;  ///< number of call paths, with that of the program, which has no values of its own
  ValueScratch values_;
  std::vector<std::size_t> order_;  ///< locations by column
  std::vector<bool> is_kept_;       ///< by metric
};

}  // namespace

void write_cubex(Run& run, OutputFile& out) { CubexWriter(run, out).write(); }

}  // namespace refrain::exports
