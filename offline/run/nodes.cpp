#include "offline/run/nodes.hpp"

#include <algorithm>
#include <utility>

namespace refrain::run {

const char* name_of(PathKind kind) { return kind == PathKind::User ? "user" : kind == PathKind::Mpi ? "mpi" : "other"; }

bool is_exact(PathKind kind, std::string_view name) {
  if (kind != PathKind::Other) return kind == PathKind::Mpi;
  return name == refrain_name || name == stopped_name || name == waited_name || name == blocked_name;
}

std::uint32_t Nodes::number_of(std::string_view text) {
  const auto [at, is_new] = numbers_.try_emplace(std::string(text), static_cast<std::uint32_t>(strings_.size()));
  if (is_new) strings_.push_back(&at->first);
  return at->second;
}

std::uint32_t Nodes::add(const Node& node) {
  const auto number = static_cast<std::uint32_t>(parent_.size());
  parent_.push_back(node.parent);
  end_.push_back(number + 1);
  kind_.push_back(node.kind);
  is_marked_.push_back(node.is_marked);
  name_.push_back(number_of(node.name));
  module_.push_back(number_of(node.module));
  file_.push_back(number_of(node.file));
  line_.push_back(node.line);
  return number;
}

void Nodes::finish(std::vector<std::uint32_t> of_path) {
  of_path_ = std::move(of_path);
  for (std::size_t node = size(); node-- > 1;) end_[parent_[node]] = std::max(end_[parent_[node]], end_[node]);
  for (std::uint32_t node = 1; node < size(); ++node) {
    if (parent_[node] != 0) continue;
    for (std::size_t i = 0; i < pseudo_.size(); ++i)
      if (kind_[node] == pseudo_paths[i].kind && name(node) == pseudo_paths[i].name) pseudo_[i] = node;
  }
}

std::vector<bool> Nodes::select(std::span<const std::uint32_t> nodes, bool inclusive) const {
  std::vector<bool> chosen(size());
  for (const std::uint32_t node : nodes)
    if (node < size()) std::fill_n(chosen.begin() + node, inclusive ? end_[node] - node : 1, true);
  return chosen;
}

void Keys::put(const Nodes& nodes, std::uint32_t node, std::uint32_t key) {
  of_node.push_back(key);
  is_outermost.push_back(key != none);
  if (key == none) return;
  if (key >= first.size()) {
    first.resize(key + 1, node);
    inside_until_.resize(key + 1);
  }
  if (node < inside_until_[key]) is_outermost[node] = false;
  else inside_until_[key] = nodes.end(node);
}

Keys by_node(const Nodes& nodes) {
  Keys keys;
  for (std::uint32_t node = 0; node < nodes.size(); ++node) keys.put(nodes, node, node);
  return keys;
}

Keys by_function(const Nodes& nodes) {
  using Function = std::pair<PathKind, std::uint32_t>;
  return keys_by(nodes, [&](std::uint32_t node) {
    return node == 0 ? std::nullopt : std::optional(Function(nodes.kind(node), nodes.name_number(node)));
  });
}

}  // namespace refrain::run
