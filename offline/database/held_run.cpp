#include "offline/database/held_run.hpp"

#include <filesystem>
#include <set>

namespace refrain::database {

HeldRun::HeldRun(const std::string& path, const char* source) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  facts_.experiment = absolute.string();
  facts_.program = absolute.parent_path().filename().string();
  facts_.version = "unknown";
  facts_.source = source;
  metrics_ = {{"wall", "s"}, {"mpi", "s", wall}, {"user", "s", wall}};
}

std::uint32_t HeldRun::node_below(std::int32_t parent, const std::string& name) {
  const run::PathKind kind = name.starts_with("MPI_") ? run::PathKind::Mpi
                             : name.starts_with('(')  ? run::PathKind::Other
                                                      : run::PathKind::User;
  return node_below(parent, name, kind);
}

std::uint32_t HeldRun::node_below(std::int32_t parent, const std::string& name, run::PathKind kind, bool is_marked) {
  const auto [at, is_new] = known_.try_emplace({parent, name}, static_cast<std::uint32_t>(nodes_.size()));
  if (is_new) {
    RunNode& node = nodes_.emplace_back();
    node.parent = parent;
    node.name = name;
    node.kind = kind;
    node.is_marked = is_marked;
  }
  return at->second;
}

std::size_t HeldRun::metric_of(const std::string& name, const char* unit) {
  for (std::size_t m = 0; m < metrics_.size(); ++m)
    if (metrics_[m].name == name) return m;
  metrics_.push_back({name, unit});
  return metrics_.size() - 1;
}

void HeldRun::add(Thread thread, std::uint32_t node, std::size_t metric, double value) {
  std::vector<double>& row = values_[thread][node];
  row.resize(std::max(row.size(), metrics_.size()));
  row[metric] += value;
  if (metric != wall) return;
  if (nodes_[node].kind == run::PathKind::Mpi) row[mpi] += value;
  if (nodes_[node].kind == run::PathKind::User) row[user] += value;
}

void HeldRun::finish() {
  std::set<std::int64_t> ranks;
  for (auto& [thread, rows] : values_) {
    for (auto& [node, row] : rows) row.resize(metrics_.size());
    locations_.push_back({thread.first, thread.second, thread.second == 0 ? "main" : "thread"});
    by_location_.push_back(&rows);
    ranks.insert(thread.first);
  }
  facts_.processes = static_cast<std::int64_t>(ranks.size());
}

void HeldRun::for_each_node(std::size_t location, const TakeNode& take) {
  for (const auto& [node, row] : *by_location_[location]) take(node, row);
}

}  // namespace refrain::database
