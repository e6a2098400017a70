#include "offline/run/excluded_paths.hpp"

#include <unordered_map>

namespace refrain::run {
namespace {

/// The visits and samples of a call path and everything below it.
struct Below {
  bool visited = false;
  std::int64_t samples = 0;
};
using ByPath = std::unordered_map<std::uint32_t, Below>;

struct OfClass {
  ByPath below;
  std::int64_t samples = 0;
  std::int64_t samples_at(std::uint32_t path) const {
    const auto at = below.find(path);
    return at == below.end() ? 0 : at->second.samples;
  }
  bool visits(std::uint32_t path) const {
    const auto at = below.find(path);
    return at != below.end() && at->second.visited;
  }
};

OfClass add_up(std::span<const experiment::CallPath> paths, const ClassSums& sums) {
  OfClass of;
  for (std::uint32_t path : sums.visited)
    for (; path != 0 && !of.below[path].visited; path = paths[path].parent) of.below[path].visited = true;
  for (const auto& [sampled, samples] : sums.sampled) {
    of.samples += samples;
    for (std::uint32_t path = sampled; path != 0; path = paths[path].parent) of.below[path].samples += samples;
  }
  return of;
}

/// The samples of one call path, over the classes that make calls below it and over those that make none.
struct Evidence {
  std::int64_t all_with = 0, hits_with = 0, all_without = 0, hits_without = 0;
  double share() const { return all_with > 0 ? static_cast<double>(hits_with) / static_cast<double>(all_with) : 0; }
  bool is_enough(std::int64_t samples) const { return share() * static_cast<double>(samples) >= expected_samples; }
};

}  // namespace

std::vector<std::vector<bool>> excluded_paths(std::span<const experiment::CallPath> paths,
                                              std::span<const ClassSums> classes) {
  std::vector<OfClass> all;
  for (const ClassSums& sums : classes) all.push_back(add_up(paths, sums));
  std::unordered_map<std::uint32_t, Evidence> evidence;
  for (const OfClass& of : all)
    for (const auto& [path, below] : of.below)
      if (below.visited) evidence.try_emplace(path);
  for (auto& [path, of_path] : evidence)
    for (const OfClass& of : all) {
      const bool with = of.visits(path);
      (with ? of_path.all_with : of_path.all_without) += of.samples;
      (with ? of_path.hits_with : of_path.hits_without) += of.samples_at(path);
    }
  std::vector<std::vector<bool>> excluded(classes.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    for (const auto& [path, of_path] : evidence) {
      if (all[k].visits(path) || all[k].samples_at(path) > 0) continue;
      const bool nowhere = of_path.hits_without == 0 && of_path.is_enough(of_path.all_without);
      if (!nowhere && !of_path.is_enough(all[k].samples)) continue;
      excluded[k].resize(paths.size(), false);
      excluded[k][path] = true;
    }
    for (std::uint32_t path = 1; path < excluded[k].size(); ++path)  // parents come before their children
      if (excluded[k][paths[path].parent]) excluded[k][path] = true;
  }
  return excluded;
}

}  // namespace refrain::run
