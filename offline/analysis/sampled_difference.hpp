#pragma once
/// Finds the function that makes some iterations of a loop take longer than others, by the samples of these iterations.

#include <cstdint>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/run/iteration_samples.hpp"
#include "statistics/statistics.hpp"

namespace refrain::analysis {

/// Time of iterations in user code, and the samples that divide it.
class SampledTimes {
 public:
  explicit SampledTimes(std::size_t nodes) : samples_(nodes) {}
  /// Adds an iteration whose samples were kept.
  void add(const CallTree& tree, double user_s, const std::vector<run::SampledPath>& samples);
  void add(const SampledTimes& other);
  /// Mean seconds of an iteration outside of MPI.
  double user_s() const { return iterations_ > 0 ? user_s_ / iterations_ : 0; }
  bool empty() const { return !(iterations_ > 0) || !(all_ > 0); }
  /// Inclusive seconds of a call path per iteration. Samples are more frequent at some times than at others: they only
  /// divide the time, which is known.
  double seconds(std::uint32_t node) const { return empty() ? 0 : user_s() * samples_[node] / all_; }
  double error_s(std::uint32_t node) const;  ///< standard error, binomial

 private:
  double iterations_ = 0, user_s_ = 0, all_ = 0;
  std::vector<double> samples_;  ///< inclusive, of user code, by node of the tree
};

/// The innermost call path of user code that has most of `more_s`, the extra time of some over others, by more than
/// chance; 0: none has. `more` and `error` are inclusive values of a node.
template <class More, class Error>
std::uint32_t innermost_difference(const CallTree& tree, double more_s, const More& more, const Error& error) {
  constexpr double most_of_it = 0.7;
  std::uint32_t at = 0;
  for (;;) {
    std::uint32_t best = 0;
    double best_s = 0;
    for (const std::uint32_t child : tree.nodes[at].children) {
      if (tree.nodes[child].kind != run::PathKind::User) continue;
      const double here_s = more(child);
      if (here_s <= best_s || here_s <= statistics::certain_errors * error(child)) continue;
      best = child;
      best_s = here_s;
    }
    if (best == 0 || best_s < most_of_it * more_s) return at;
    at = best;
  }
}

/// The innermost call path that has most of `more_s`, the extra time of the longer iterations; 0: the samples are too
/// few to tell, or it is the loop itself.
std::uint32_t node_of_difference(const CallTree& tree, const SampledTimes& longer, const SampledTimes& others,
                                 double more_s);

}  // namespace refrain::analysis
