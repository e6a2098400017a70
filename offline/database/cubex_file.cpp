#include "offline/database/cubex_file.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <pugixml.hpp>

#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/folder.hpp"

namespace refrain::database {
namespace {

using experiment::clean_text;
using experiment::InputFile;
using Member = experiment::TarMember;

constexpr std::size_t value_bytes = 8;
constexpr int deepest = 10'000;

struct Anchor {
  CubexFile file;
  struct Metric {
    std::string id;
    std::size_t place;  ///< index in file.metrics
    bool is_integer, is_signed;
  };
  std::vector<Metric> metrics;
  std::vector<std::uint32_t> inclusive_row;  ///< node by row of inclusive metrics
};

class AnchorReader {
 public:
  AnchorReader(const InputFile& file, const Member& member) : input_(file), member_(member) {}

  Anchor read() {
    const std::vector<std::byte> text = input_.read(member_.offset, member_.size, "anchor.xml");
    pugi::xml_document document;
    if (const auto result = document.load_buffer(text.data(), text.size()); !result)
      fail(fmt::format("anchor.xml: {}", result.description()), static_cast<std::uint64_t>(result.offset));
    const pugi::xml_node cube = document.child("cube");
    if (!cube) fail("anchor.xml: there is no <cube> in it");
    for (const pugi::xml_node attribute : cube.children("attr"))
      if (std::strcmp(attribute.attribute("key").value(), "Creator") == 0)
        anchor_.file.creator = clean_text(attribute.attribute("value").value());
    add_metrics(cube.child("metrics"));
    std::map<std::string, std::pair<std::string, std::string>> regions;
    for (const pugi::xml_node region : cube.child("program").children("region"))
      regions[region.attribute("id").value()] = {clean_text(region.child_value("name")),
                                                 clean_text(region.child_value("paradigm"))};
    for (const pugi::xml_node root : cube.child("program").children("cnode")) add_nodes(root, regions);
    if (anchor_.file.nodes.empty()) fail("anchor.xml: there are no call paths in it");
    number_levels();
    add_locations(cube.child("system"), 0);
    if (anchor_.file.locations.empty()) fail("anchor.xml: there are no locations in it");
    if (anchor_.file.nodes.size() * anchor_.file.locations.size() > most_cubex_values)
      fail("more call paths and locations than can be read");
    return std::move(anchor_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, std::uint64_t at = 0) const {
    input_.fail(member_.offset + at, what);
  }

  /// Adds the metrics below `parent`. Minima and the like are not sums, and are left out.
  void add_metrics(const pugi::xml_node& parent) {
    for (const pugi::xml_node metric : parent.children("metric")) {
      const std::string type = metric.child_value("dtype"), kind = metric.attribute("type").value();
      const bool is_real = type == "DOUBLE" || type == "FLOAT", is_signed = type.starts_with("INT"),
                 is_integer = is_signed || type.starts_with("UINT");
      if ((is_real || is_integer) && (kind == "EXCLUSIVE" || kind == "INCLUSIVE")) {
        anchor_.metrics.push_back({metric.attribute("id").value(), anchor_.file.metrics.size(), is_integer, is_signed});
        anchor_.file.metrics.push_back({clean_text(metric.child_value("uniq_name")),
                                        clean_text(metric.child_value("uom")),
                                        kind == "INCLUSIVE",
                                        {}});
      }
      add_metrics(metric);
    }
  }

  void add_nodes(const pugi::xml_node& root,
                 const std::map<std::string, std::pair<std::string, std::string>>& regions) {
    struct Open {
      pugi::xml_node node;
      std::int32_t parent;
    };
    // Preorder: the node pushed last comes next, so children are pushed from the last to the first.
    std::vector<Open> open{{root, -1}};
    while (!open.empty()) {
      const auto [node, parent] = open.back();
      open.pop_back();
      const auto region = regions.find(node.attribute("calleeId").value());
      if (region == regions.end())
        fail(fmt::format("anchor.xml: call path {} is of a region that is not there",
                         clean_text(node.attribute("id").value())));
      const auto own = static_cast<std::int32_t>(anchor_.file.nodes.size());
      anchor_.file.nodes.push_back({parent, region->second.first, region->second.second});
      for (pugi::xml_node child = node.last_child(); child; child = child.previous_sibling())
        if (std::strcmp(child.name(), "cnode") == 0) open.push_back({child, own});
    }
  }

  void number_levels() {
    const auto& nodes = anchor_.file.nodes;
    std::vector<std::vector<std::uint32_t>> children(nodes.size());
    for (std::uint32_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].parent >= 0) children[static_cast<std::size_t>(nodes[i].parent)].push_back(i);
    for (std::uint32_t root = 0; root < nodes.size(); ++root) {
      if (nodes[root].parent >= 0) continue;
      std::size_t next = anchor_.inclusive_row.size();
      anchor_.inclusive_row.push_back(root);
      for (; next < anchor_.inclusive_row.size(); ++next) {
        const auto& below = children[anchor_.inclusive_row[next]];
        anchor_.inclusive_row.insert(anchor_.inclusive_row.end(), below.begin(), below.end());
      }
    }
  }

  void add_locations(const pugi::xml_node& parent, int depth) {
    if (depth > deepest) fail("anchor.xml: nested too deep");
    for (const pugi::xml_node child : parent.children()) {
      if (std::strcmp(child.name(), "systemtreenode") == 0) add_locations(child, depth + 1);
      if (std::strcmp(child.name(), "locationgroup") != 0) continue;
      for (const pugi::xml_node location : child.children("location"))
        anchor_.file.locations.push_back({child.child("rank").text().as_llong(),
                                          location.child("rank").text().as_llong(),
                                          clean_text(location.child_value("name"))});
    }
  }

  const InputFile& input_;
  const Member& member_;
  Anchor anchor_;
};

/// Limits the values of all metrics together.
class ValueBudget {
 public:
  ValueBudget(const InputFile& file, std::size_t values) : file_(file), left_(values) {}

  void take(std::size_t values, const Member& member) {
    if (values > left_) file_.fail(member.offset, "more values of call paths, locations and metrics than can be read");
    left_ -= values;
  }

 private:
  const InputFile& file_;
  std::size_t left_;
};

class ValueReader {
 public:
  ValueReader(const InputFile& file, const std::map<std::string, Member>& members, Anchor& anchor, ValueBudget& budget)
      : file_(file), members_(members), anchor_(anchor), budget_(budget) {}

  void read(const Anchor::Metric& metric) {
    const auto index = members_.find(metric.id + ".index"), data = members_.find(metric.id + ".data");
    if (index == members_.end() || data == members_.end()) return;  // nothing was counted
    const std::vector<std::uint32_t> rows = rows_of(index->second);
    constexpr std::string_view head = "CUBEX.DATA";
    const std::size_t locations = anchor_.file.locations.size();
    const std::vector<std::byte> bytes = file_.read(data->second.offset, data->second.size, "values");
    if (bytes.size() >= head.size() + 1 && std::memcmp(bytes.data(), "Z", 1) == 0)
      file_.fail(data->second.offset, "its values are compressed, which is not read; cube_remap2 -c writes it without");
    if (bytes.size() < head.size() || std::memcmp(bytes.data(), head.data(), head.size()) != 0)
      file_.fail(data->second.offset, "no values of CUBE");
    if ((bytes.size() - head.size()) / value_bytes < rows.size() * locations)
      file_.fail(data->second.offset, "there are fewer values than its index says");
    CubexMetric& into = anchor_.file.metrics[metric.place];
    constexpr std::size_t values_of_a_row = sizeof into.values[0] / value_bytes;
    budget_.take(anchor_.file.nodes.size() * values_of_a_row + rows.size() * locations, data->second);
    into.values.resize(anchor_.file.nodes.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint32_t node = into.is_inclusive ? anchor_.inclusive_row[rows[i]] : rows[i];
      std::vector<double>& row = into.values[node];
      row.resize(locations);
      for (std::size_t l = 0; l < locations; ++l)
        row[l] = value(bytes.data() + head.size() + (i * locations + l) * value_bytes, metric);
    }
    if (into.is_inclusive) make_exclusive(into, data->second);
  }

 private:
  std::vector<std::uint32_t> rows_of(const Member& member) {
    constexpr std::string_view head = "CUBEX.INDEX";
    constexpr std::size_t fixed = head.size() + 4 + 2 + 1;
    const std::vector<std::byte> bytes = file_.read(member.offset, member.size, "an index");
    if (bytes.size() < fixed || std::memcmp(bytes.data(), head.data(), head.size()) != 0)
      file_.fail(member.offset, "no index of CUBE");
    std::uint32_t one = 0;
    std::memcpy(&one, bytes.data() + head.size(), sizeof one);
    is_swapped_ = one == 0x01000000;
    if (one != 1 && !is_swapped_) file_.fail(member.offset, "an index without an order of bytes");
    const std::size_t nodes = anchor_.file.nodes.size();
    std::vector<std::uint32_t> rows;
    if (bytes[fixed - 1] == std::byte{0}) {
      for (std::uint32_t i = 0; i < nodes; ++i) rows.push_back(i);
      return rows;
    }
    if (bytes.size() < fixed + 4) file_.fail(member.offset, "an index that ends too early");
    const std::uint32_t count = number(bytes.data() + fixed);
    if (count > nodes || bytes.size() < fixed + 4 + std::size_t{count} * 4)
      file_.fail(member.offset, "an index of more rows than there are");
    for (std::uint32_t i = 0; i < count; ++i) {
      rows.push_back(number(bytes.data() + fixed + 4 + std::size_t{i} * 4));
      if (rows.back() >= nodes) file_.fail(member.offset, "an index with a row that there is not");
    }
    return rows;
  }

  std::uint32_t number(const std::byte* at) const {
    std::uint32_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return is_swapped_ ? __builtin_bswap32(value) : value;
  }

  double value(const std::byte* at, const Anchor::Metric& metric) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    if (is_swapped_) bits = __builtin_bswap64(bits);
    if (!metric.is_integer) return std::bit_cast<double>(bits);
    return metric.is_signed ? static_cast<double>(static_cast<std::int64_t>(bits)) : static_cast<double>(bits);
  }

  /// Subtracts the values of the nodes below each node. A result below 0 by more than rounding means that rows are not
  /// in the expected order.
  void make_exclusive(CubexMetric& metric, const Member& member) {
    const auto& nodes = anchor_.file.nodes;
    const std::size_t locations = anchor_.file.locations.size();
    constexpr double rounding = 1e-6;
    const std::vector<std::vector<double>> inclusive = metric.values;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].parent < 0 || inclusive[i].empty()) continue;
      std::vector<double>& above = metric.values[static_cast<std::size_t>(nodes[i].parent)];
      if (above.empty()) budget_.take(locations, member);
      above.resize(locations);
      for (std::size_t l = 0; l < locations; ++l) above[l] -= inclusive[i][l];
    }
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (std::size_t l = 0; l < metric.values[i].size(); ++l) {
        const double most = inclusive[i].empty() ? 0 : std::abs(inclusive[i][l]);
        if (metric.values[i][l] < -(rounding * most + rounding))
          file_.fail(member.offset, fmt::format("call paths have more of {} than what calls them", metric.name));
        metric.values[i][l] = std::max(metric.values[i][l], 0.0);
      }
  }

  const InputFile& file_;
  const std::map<std::string, Member>& members_;
  Anchor& anchor_;
  ValueBudget& budget_;
  bool is_swapped_ = false;
};

}  // namespace

bool is_cubex(const std::string& path) { return experiment::is_tar(path) && !experiment::is_packed(path); }

CubexFile parse_cubex(const InputFile& file, std::size_t most_values) {
  const std::map<std::string, Member> members = experiment::tar_members(file);
  const auto anchor_member = members.find("anchor.xml");
  if (anchor_member == members.end()) file.fail(0, "there is no anchor.xml in it, so it is no profile of CUBE");
  Anchor anchor = AnchorReader(file, anchor_member->second).read();
  ValueBudget budget(file, most_values);
  for (const Anchor::Metric& metric : anchor.metrics) ValueReader(file, members, anchor, budget).read(metric);
  return std::move(anchor.file);
}

}  // namespace refrain::database
