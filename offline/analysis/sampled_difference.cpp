#include "offline/analysis/sampled_difference.hpp"

#include <algorithm>
#include <cmath>

namespace refrain::analysis {

void SampledTimes::add(const CallTree& tree, double user_s, const std::vector<run::SampledPath>& samples) {
  user_s_ += user_s;
  ++iterations_;
  for (const run::SampledPath& of : samples) {
    const std::uint32_t node = tree.node_of[of.path];
    if (tree.nodes[node].kind != PathKind::User) continue;
    const auto count = static_cast<double>(of.samples);
    all_ += count;
    for (std::uint32_t at = node; at != 0; at = static_cast<std::uint32_t>(tree.nodes[at].parent))
      samples_[at] += count;
  }
}

void SampledTimes::add(const SampledTimes& other) {
  iterations_ += other.iterations_;
  user_s_ += other.user_s_;
  all_ += other.all_;
  for (std::size_t node = 0; node < samples_.size(); ++node) samples_[node] += other.samples_[node];
}

double SampledTimes::error_s(std::uint32_t node) const {
  if (empty()) return 0;
  const double share = samples_[node] / all_;
  return user_s() * std::sqrt(std::max(share * (1 - share), 0.0) / all_);
}

std::uint32_t node_of_difference(const CallTree& tree, const SampledTimes& longer, const SampledTimes& others,
                                 double more_s) {
  constexpr double most_of_it = 0.7, certain = 3;
  if (longer.empty() || others.empty()) return 0;
  const auto more_of = [&](std::uint32_t node) { return longer.seconds(node) - others.seconds(node); };
  std::uint32_t at = 0;
  for (;;) {
    std::uint32_t best = 0;
    for (const std::uint32_t child : tree.nodes[at].children)
      if (tree.nodes[child].kind == PathKind::User &&
          more_of(child) > certain * std::hypot(longer.error_s(child), others.error_s(child)) &&
          (best == 0 || more_of(child) > more_of(best)))
        best = child;
    if (best == 0 || more_of(best) < most_of_it * more_s) break;
    at = best;
  }
  // The loop itself, and what has called it, are no answer.
  return at != 0 && tree.nodes[at].marked ? 0 : at;
}

}  // namespace refrain::analysis
