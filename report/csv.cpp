#include <fmt/format.h>

#include "report/csv_field.hpp"
#include "report/overview.hpp"

namespace refrain::report {
namespace {

constexpr const char* count_columns = "visits,samples,messages_sent,bytes_sent,messages_received,bytes_received";

std::string counts(const analysis::Counts& c) {
  return fmt::format("{},{},{},{},{},{}", c.visits, c.samples, c.messages_sent, c.bytes_sent, c.messages_received,
                     c.bytes_received);
}

}  // namespace

std::string csv_report(const Document& document) {
  std::string out;
  if (document.options.flat) {
    out += fmt::format("function,kind,exclusive_s,inclusive_s,{}\r\n", count_columns);
    for (const auto& f : document.functions)
      out += fmt::format("{},{},{},{},{}\r\n", csv_field(f.name), name_of(f.kind), f.exclusive_s, f.inclusive_s,
                         counts(f.exclusive));
    return out;
  }
  const bool sites = document.options.callsites;
  out += fmt::format("path,kind,exclusive_s,inclusive_s,{},inclusive_min_s,inclusive_mean_s,inclusive_max_s{}\r\n",
                     count_columns, sites ? ",module,file,line" : "");
  for (std::uint32_t i = 1; i < document.tree.nodes.size(); ++i) {
    const analysis::TreeNode& node = document.tree.nodes[i];
    out += fmt::format("{},{},{},{},{},{},{},{}", csv_path(document.tree, i), name_of(node.kind), node.exclusive_s,
                       node.inclusive_s, counts(node.exclusive), node.spread.min, node.spread.mean, node.spread.max);
    if (sites) out += fmt::format(",{},{},{}", csv_field(node.module), csv_field(node.file), node.line);
    out += "\r\n";
  }
  return out;
}

}  // namespace refrain::report
