#include "offline/analysis/sampled_difference.hpp"

#include <cmath>

namespace refrain::analysis {

void SampledTimes::add(const CallTree& tree, double user_s, const std::vector<run::SampledPath>& samples) {
  user_s_ += user_s;
  ++iterations_;
  for (const run::SampledPath& of : samples) {
    const std::uint32_t node = tree.node_of[of.path];
    if (tree.nodes[node].kind != run::PathKind::User) continue;
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
  return user_s() * statistics::error_of_share(share, all_);
}

std::uint32_t node_of_difference(const CallTree& tree, const SampledTimes& longer, const SampledTimes& others,
                                 double more_s) {
  if (longer.empty() || others.empty()) return 0;
  const std::uint32_t at = innermost_difference(
      tree, more_s, [&](std::uint32_t node) { return longer.seconds(node) - others.seconds(node); },
      [&](std::uint32_t node) { return std::hypot(longer.error_s(node), others.error_s(node)); });
  // The loop itself and its callers are no answer.
  return at != 0 && tree.nodes[at].marked ? 0 : at;
}

}  // namespace refrain::analysis
