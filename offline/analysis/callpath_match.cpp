#include "offline/analysis/callpath_match.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "config/edit_distance.hpp"

namespace refrain::analysis {
namespace {

std::string_view without_parameters(std::string_view name) {
  if (name.starts_with('(')) return name;  // (not on CPU), (anonymous namespace)::f
  return name.substr(0, name.find('('));
}

/// True when `path`, "a/b/c", is `wanted` or ends with it after a slash.
bool ends_with_path(std::string_view path, std::string_view wanted) {
  return path.ends_with(wanted) && (path.size() == wanted.size() || path[path.size() - wanted.size() - 1] == '/');
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) text.replace(at, what.size(), by);
}

/// `wanted` as match_callpath() compares it: slashes between the names, and no placeholders for elided parameters.
std::string with_slashes(std::string_view wanted) {
  std::string text(wanted);
  for (const char* between : {";", " > "}) replace_all(text, between, "/");
  for (const char* cut : {"(…)", "(...)"}) replace_all(text, cut, "");
  return text.substr(std::min(text.find_first_not_of('/'), text.size()));
}

/// The outermost call paths that end with these names.
std::vector<std::uint32_t> outermost(const CallTree& tree, std::string_view wanted, std::string_view root) {
  std::vector<std::uint32_t> nodes;
  std::vector<bool> chosen(tree.nodes.size(), false);
  std::vector<std::string> full(tree.nodes.size(), std::string(root)), bare = full;
  for (std::uint32_t i = 1; i < tree.nodes.size() && !wanted.empty(); ++i) {
    const TreeNode& node = tree.nodes[i];
    const auto parent = static_cast<std::size_t>(node.parent);
    const std::string slash = full[parent].empty() ? "" : "/";
    full[i] = full[parent] + slash + node.name;
    bare[i] = bare[parent] + slash + std::string(without_parameters(node.name));
    chosen[i] = chosen[parent] || ends_with_path(full[i], wanted) || ends_with_path(bare[i], wanted);
    if (chosen[i] && !chosen[parent]) nodes.push_back(i);
  }
  if (nodes.empty() && !wanted.empty() && wanted == root) nodes.push_back(0);
  return nodes;
}

}  // namespace

std::vector<bool> paths_below(const CallTree& tree, const std::vector<std::uint32_t>& nodes) {
  std::vector<bool> chosen(tree.nodes.size());
  for (const std::uint32_t node : nodes) chosen[node] = true;
  for (std::size_t i = 1; i < tree.nodes.size(); ++i)
    if (chosen[static_cast<std::size_t>(tree.nodes[i].parent)]) chosen[i] = true;
  std::vector<bool> paths(tree.node_of.size());
  for (std::size_t path = 0; path < paths.size(); ++path)
    paths[path] = tree.node_of[path] != 0 && chosen[tree.node_of[path]];
  return paths;
}

CallPathMatch match_callpath(const CallTree& tree, std::string_view wanted, std::string_view root) {
  CallPathMatch match;
  match.nodes = outermost(tree, with_slashes(wanted), root);
  match.selection.everything = match.nodes == std::vector<std::uint32_t>{0};
  match.selection.paths = paths_below(tree, match.nodes);
  if (match.selection.everything) match.selection.paths.assign(tree.node_of.size(), true);
  for (const std::uint32_t child : match.nodes) {
    const std::string& name = tree.nodes[child].name;
    if (tree.nodes[child].parent != 0) continue;
    match.selection.not_on_cpu |= name == run::not_on_cpu_name;
    match.selection.waited |= name == run::waited_name;
    match.selection.blocked |= name == run::blocked_name;
    match.selection.no_sample |= name == run::no_sample_name;
    match.selection.refrain |= name == run::refrain_name;
    match.selection.mpi_without_path |= name == run::mpi_without_path_name;
  }
  return match;
}

namespace {

/// The shortest call path to a function of this name.
std::string path_to_function(const CallTree& tree, const std::string& name) {
  std::vector<std::string> shortest;
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
    if (tree.nodes[i].name != name) continue;
    auto path = path_to(tree, i);
    if (shortest.empty() || path.size() < shortest.size()) shortest = std::move(path);
  }
  std::string text;
  for (const std::string& part : shortest) text += (text.empty() ? "" : "/") + part;
  return text;
}

}  // namespace

std::vector<std::string> similar_functions(const CallTree& tree, std::string_view names_of_path, std::size_t count) {
  const std::string wanted = with_slashes(names_of_path);
  const std::string last = lower_case(without_parameters(std::string_view(wanted).substr(wanted.rfind('/') + 1)));
  std::set<std::string> names;
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) names.insert(tree.nodes[i].name);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& name : names) {
    const std::string lower = lower_case(without_parameters(name));
    std::vector<std::size_t> row(lower.size() + 1);
    const std::size_t distance = config::edit_distance(last, lower, row.data());
    const bool contains =
        !last.empty() && (lower.find(last) != lower.npos || (lower.size() > 2 && last.find(lower) != last.npos));
    if (contains) ranked.emplace_back(0, name);
    else if (distance <= std::max<std::size_t>(1, last.size() / 2)) ranked.emplace_back(distance, name);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> similar;
  for (std::size_t i = 0; i < ranked.size() && i < count; ++i) {
    const std::string& name = ranked[i].second;
    const bool same =
        without_parameters(name) == without_parameters(std::string_view(wanted).substr(wanted.rfind('/') + 1));
    similar.push_back(same ? path_to_function(tree, name) : name);
  }
  return similar;
}

}  // namespace refrain::analysis
