#include "offline/patterns/headlines.hpp"

#include <algorithm>
#include <map>
#include <span>

namespace refrain::patterns {

namespace {

/// Call paths by names, with the time of each.
class NamedTimes {
 public:
  NamedTimes(const std::vector<PatternResult::ByNode>& by_node, const Naming& naming) {
    for (const PatternResult::ByNode& of : by_node) {
      paths_.emplace_back(naming.names_of(of.node), of.severity.ns);
      all_ns_ += of.severity.ns;
    }
  }
  double all_ns() const { return all_ns_; }
  double below(std::span<const std::string> path) const {
    double ns = 0;
    for (const auto& [names, of] : paths_)
      if (names.size() > path.size() && std::ranges::equal(path, std::span(names).first(path.size()))) ns += of;
    return ns;
  }
  /// The callee with most of the time, and its time.
  std::pair<std::string, double> largest_child(std::span<const std::string> path) const {
    std::map<std::string, double> children;
    for (const auto& [names, of] : paths_)
      if (names.size() > path.size() && std::ranges::equal(path, std::span(names).first(path.size())))
        children[names[path.size()]] += of;
    const auto largest = std::ranges::max_element(children, {}, [](const auto& of) { return of.second; });
    if (largest == children.end()) return {};
    return {largest->first, largest->second};
  }

 private:
  std::vector<std::pair<std::vector<std::string>, double>> paths_;
  double all_ns_ = 0;
};

}  // namespace

std::vector<std::string> common_path(const NamedActivity& computation, const Naming& naming) {
  const auto names_of = [&](const std::optional<std::uint32_t>& node) {
    auto names = node ? naming.names_of(*node) : std::vector<std::string>();
    if (!names.empty()) names.pop_back();
    return names;
  };
  std::vector<std::string> path = names_of(computation.after);
  if (!computation.before) return path;
  const std::vector<std::string> other = names_of(computation.before);
  path.erase(std::ranges::mismatch(path, other).in1, path.end());
  return path;
}

std::vector<std::string> main_function(const CauseResult& computation, const Naming& naming) {
  constexpr double half = 0.5, nearly_all = 0.8;
  const NamedTimes times(computation.by_node, naming);
  std::vector<std::string> path = common_path(computation.activity, naming);
  // Between the two calls the program may have left the function that made both.
  while (!path.empty() && times.below(path) < half * times.all_ns()) path.pop_back();
  const std::size_t common = path.size();
  double here_ns = times.all_ns();
  for (double least = half; here_ns > 0; least = nearly_all) {
    auto [name, ns] = times.largest_child(path);
    // Internal functions of libraries say nothing about the program.
    if (name.empty() || ns < least * here_ns) break;
    if (path.size() > common && (name[0] == '_' || name[0] == '[' || name[0] == '(')) break;
    path.push_back(std::move(name));
    here_ns = ns;
  }
  return path.size() > common ? path : std::vector<std::string>();
}

namespace {

/// Adds one headline for each call path with at least `least_ns`, and one for all others together.
void add_headlines(const PatternResult& of, double least_ns, std::vector<Headline>& all) {
  Headline rest{of.about.name, 0, {}};
  for (const PatternResult::ByNode& row : of.by_node) {
    if (row.severity.ns >= least_ns) {
      all.push_back({of.about.name, row.severity.ns, {row.node}});
      continue;
    }
    rest.ns += row.severity.ns;
    rest.nodes.push_back(row.node);
  }
  if (!rest.nodes.empty() && rest.ns >= least_ns) all.push_back(std::move(rest));
}

}  // namespace

std::vector<Headline> headlines(const Analysis& analysis, std::size_t most, double least_share,
                                const std::function<CauseResults(std::uint32_t node)>& causes_of) {
  std::vector<Headline> all;
  if (analysis.patterns.empty() || analysis.patterns[0].by_location.empty()) return all;
  for (const PatternResult& of : analysis.patterns)
    if (of.about.is_wait && of.about.parent != "init_finalize") add_headlines(of, least_share * analysis.total_ns, all);
  std::ranges::stable_sort(all, std::greater<>{}, &Headline::ns);
  // A call may have waited for a send and a receive at once: one headline for each call path.
  std::vector<Headline> chosen;
  for (Headline& of : all)
    if (const auto first = [](const Headline& one) { return one.nodes.front(); };
        chosen.size() < most && std::ranges::find(chosen, first(of), first) == chosen.end())
      chosen.push_back(std::move(of));
  for (Headline& of : chosen)
    if (of.nodes.size() == 1) of.causes = causes_of(of.nodes.front());
  return chosen;
}

}  // namespace refrain::patterns
