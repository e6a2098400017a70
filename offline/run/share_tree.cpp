#include "offline/run/share_tree.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "statistics/statistics.hpp"

namespace refrain::run {
namespace {

double x_log_x(std::int64_t x) {
  static const std::vector<double> table = [] {
    std::vector<double> values(1 << 14, 0);
    for (std::size_t i = 1; i < values.size(); ++i) {
      const auto v = static_cast<double>(i);
      values[i] = v * std::log(v);
    }
    return values;
  }();
  if (x < static_cast<std::int64_t>(table.size())) return table[static_cast<std::size_t>(x)];
  const auto v = static_cast<double>(x);
  return v * std::log(v);
}

/// 2 log L, without the terms that are equal for all divisions.
double twice_log_likelihood(std::span<const PathSamples> hits) {
  std::int64_t samples = 0;
  double sum = 0;
  for (const PathSamples& of : hits) {
    sum += x_log_x(of.samples);
    samples += of.samples;
  }
  return 2 * (sum - x_log_x(samples));
}

/// The gain by one call path against the rest: `hits` of `samples` in one part, `other_hits` of `other_samples` in the
/// other.
double gain_of_one(std::int64_t hits, std::int64_t samples, std::int64_t other_hits, std::int64_t other_samples) {
  const auto log_likelihood = [](std::int64_t k, std::int64_t n) { return x_log_x(k) + x_log_x(n - k) - x_log_x(n); };
  return 2 * (log_likelihood(hits, samples) + log_likelihood(other_hits, other_samples) -
              log_likelihood(hits + other_hits, samples + other_samples));
}

}  // namespace

double least_gain(std::int64_t samples, std::size_t paths) {
  return (static_cast<double>(paths) + 1) * std::log(static_cast<double>(std::max<std::int64_t>(samples, 1)));
}

double least_gain_of_one(std::int64_t samples, std::size_t paths) {
  return least_gain(samples, 2) + 2 * std::log(static_cast<double>(std::max<std::size_t>(paths, 1)));
}

ShareSpread& ShareSpread::operator+=(const ShareSpread& other) {
  for (std::size_t i = 0; i < quarters.size(); ++i) quarters[i] += other.quarters[i];
  variance += other.variance;
  variance_of_one += other.variance_of_one;
  return *this;
}

double ShareSpread::variance_of(double share) const {
  return variance_of_one > 0 ? std::max(0.0, share * (1 - share)) * variance / variance_of_one : 0;
}

void SampledIterations::add(const ShareVariables& of, std::span<const PathSamples> samples) {
  variables_.push_back(of);
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  first_.push_back(samples_.size());
}

void SampledIterations::add(const SampledIterations& others) {
  for (std::size_t i = 0; i < others.size(); ++i) add(others.variables(i), others.samples(i));
}

/// Keeps the iterations sorted by each variable. A node is the same range in all these orders.
class ShareTree::Grower {
 public:
  Grower(const SampledIterations& iterations, ShareTree& tree) : iterations_(iterations), tree_(tree) {
    const std::size_t size = iterations.size();
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < size; ++i)
      for (const PathSamples& of : iterations.samples(i)) largest = std::max(largest, of.path);
    in_node_.resize(largest + 1U);
    in_left_.resize(largest + 1U);
    in_quarter_.resize(largest + 1U);
    goes_left_.resize(size);
    for (std::size_t v = 0; v < ShareVariables::count; ++v) {
      order_[v].resize(size);
      std::iota(order_[v].begin(), order_[v].end(), 0U);
      std::ranges::stable_sort(order_[v], {}, [&](std::uint32_t i) { return value(v, i); });
    }
    spare_.resize(size);
  }

  void grow(std::span<const Share> outside) {
    std::vector<Range> open{{0, 0, iterations_.size(), {outside.begin(), outside.end()}}};
    tree_.splits_.nodes.push_back({});
    while (!open.empty()) {
      Range range = std::move(open.back());
      open.pop_back();
      count(range);
      std::vector<Share> shares = shares_of(range);
      if (range.node == 0) {
        tree_.samples_ = samples_;
        tree_.paths_hit_ = hit_.size();
      }
      const Split split = best(range);
      if (split.surplus <= 0) {
        tree_.splits_.nodes[range.node].leaf = static_cast<std::uint32_t>(tree_.leaves_.size());
        if (samples_ >= enough_samples) {
          tell_quarters_apart(range, shares);
          find_variances(range, shares);
        }
        std::vector<PathSamples> hits;
        for (const std::uint32_t path : hit_) hits.push_back({path, in_node_[path]});
        tree_.leaves_.push_back({samples_, std::move(hits), std::move(shares)});
        continue;
      }
      tree_.cost_ += split.least;
      const std::size_t middle = divide(range, split);
      const auto child = static_cast<std::uint32_t>(tree_.splits_.nodes.size());
      tree_.splits_.nodes.resize(tree_.splits_.nodes.size() + 2);
      tree_.splits_.nodes[range.node] = {split.variable, split.most, {child, child + 1}, 0};
      open.push_back({child + 1, middle, range.end, shares});
      open.push_back({child, range.begin, middle, std::move(shares)});
    }
  }

 private:
  struct Range {
    std::size_t node, begin, end;
    std::vector<Share> above;
  };
  struct Split {
    double surplus = 0;  ///< of the gain over `least`
    double least = 0;
    std::size_t variable = 0;
    std::int64_t most = 0;
  };

  std::int64_t value(std::size_t variable, std::uint32_t i) const { return iterations_.variables(i).value[variable]; }

  void count(const Range& range) {
    for (const std::uint32_t path : hit_) in_node_[path] = 0;
    hit_.clear();
    samples_ = 0;
    for (std::size_t at = range.begin; at < range.end; ++at)
      for (const PathSamples& of : iterations_.samples(order_[0][at])) {
        if (of.samples <= 0) continue;
        if (in_node_[of.path] == 0) hit_.push_back(of.path);
        in_node_[of.path] += of.samples;
        samples_ += of.samples;
      }
    std::ranges::sort(hit_);
  }

  /// The shares of a node; with few samples, as if there were one more, divided like the parent.
  std::vector<Share> shares_of(const Range& range) const {
    const bool few = samples_ < enough_samples && !range.above.empty();
    if (few && (range.node == 0 || samples_ == 0)) return range.above;
    const double n = static_cast<double>(samples_) + (few ? 1 : 0);
    std::vector<Share> shares;
    auto above = range.above.begin();
    const auto end = few ? range.above.end() : above;
    for (const std::uint32_t path : hit_) {
      for (; above != end && above->path < path; ++above) shares.push_back({above->path, above->share / n});
      const bool both = above != end && above->path == path;
      shares.push_back({path, (static_cast<double>(in_node_[path]) + (both ? above->share : 0)) / n});
      above += both;
    }
    for (; above != end; ++above) shares.push_back({above->path, above->share / n});
    return shares;
  }

  void tell_quarters_apart(const Range& range, std::vector<Share>& shares) {
    std::size_t first = 0;
    for (const std::size_t v : {ShareVariables::number, ShareVariables::user_time}) {
      std::array<std::int64_t, 4> size{};
      std::int64_t passed = 0;
      for (std::size_t at = range.begin; at < range.end; ++at) {
        const auto quarter = static_cast<std::size_t>(std::min<std::int64_t>(4 * passed / samples_, 3));
        for (const PathSamples& of : iterations_.samples(order_[v][at])) {
          if (of.samples <= 0) continue;
          in_quarter_[of.path][quarter] += of.samples;
          size[quarter] += of.samples;
          passed += of.samples;
        }
      }
      for (Share& of : shares)
        for (std::size_t q = 0; q < size.size(); ++q)
          if (size[q] > 0)
            of.spread.quarters[first + q] = static_cast<float>(
                static_cast<double>(in_quarter_[of.path][q]) / static_cast<double>(size[q]) - of.share);
      for (const std::uint32_t path : hit_) in_quarter_[path] = {};
      first += size.size();
    }
  }

  /// With n samples in an iteration, k of them on a call path of share p: (k - n p)^2 is n p (1 - p) by chance, and
  /// n^2 v more if the shares of iterations have the variance v. But a function that is one stretch of time in an
  /// iteration is hit by jittered samples almost equally often each time: then (k - n p)^2 is at most
  /// n p (1 - p) / 12 + 1/4. The samples do not tell which case applies. With few samples per iteration, the second
  /// formula would take chance for variance; with many, it overestimates little, and the first would miss variance.
  static constexpr std::int64_t many_samples = 50;
  void find_variances(const Range& range, std::vector<Share>& shares) {
    std::vector<double> share(in_node_.size(), 0), sum(in_node_.size(), 0);
    for (const Share& of : shares) share[of.path] = of.share;
    double squares = 0;
    for (std::size_t at = range.begin; at < range.end; ++at) {
      const auto samples = iterations_.samples(order_[0][at]);
      double n = 0;
      for (const PathSamples& of : samples) n += static_cast<double>(std::max<std::int64_t>(of.samples, 0));
      for (const PathSamples& of : samples) {
        const double k = static_cast<double>(std::max<std::int64_t>(of.samples, 0));
        sum[of.path] += k * (k - 2 * n * share[of.path]);
      }
      squares += n * n;
    }
    const auto n = static_cast<double>(samples_);
    const bool many = samples_ >= many_samples * static_cast<std::int64_t>(range.end - range.begin);
    for (Share& of : shares) {
      const double p = of.share, chance = p * (1 - p);
      const double by_chance =
          many ? n * chance / 12 + 0.25 * static_cast<double>(range.end - range.begin) : n * chance;
      const double beyond = sum[of.path] + squares * p * p - by_chance;
      const double error = std::sqrt(2 * squares * chance * chance + std::max(0.0, n * chance * (1 - 6 * chance)));
      of.spread.variance_of_one = static_cast<float>(chance);
      if (beyond > statistics::certain_errors * error) of.spread.variance = static_cast<float>(beyond / squares);
    }
  }

  Split best(const Range& range) {
    Split best;
    if (hit_.size() < 2) return best;
    double whole = -x_log_x(samples_);
    for (const std::uint32_t path : hit_) whole += x_log_x(in_node_[path]);
    const double least = least_gain(samples_, hit_.size()), least_of_one = least_gain_of_one(samples_, hit_.size());
    for (std::size_t v = 0; v < ShareVariables::count; ++v) {
      const auto& order = order_[v];
      if (value(v, order[range.begin]) == value(v, order[range.end - 1])) continue;
      double left = 0, right = whole + x_log_x(samples_);
      std::int64_t moved = 0;
      Split here;
      // The gain of one call path against the rest is largest next to an iteration that has it.
      const auto offer_paths_of = [&](std::size_t first, std::size_t end) {
        for (std::size_t at = first; at < end; ++at)
          for (const PathSamples& of : iterations_.samples(order[at]))
            if (of.samples > 0)
              if (const double surplus = gain_of_one_path(of.path, moved) - least_of_one; surplus > here.surplus) {
                here.surplus = surplus;
                here.least = least_of_one;
              }
      };
      for (std::size_t at = range.begin; at < range.end;) {
        std::size_t end = at;  // of the iterations with the same value
        while (end < range.end && value(v, order[end]) == value(v, order[at])) ++end;
        if (at > range.begin) {
          offer_paths_of(at, end);
          if (here.surplus > best.surplus) best = here;
        }
        for (std::size_t i = at; i < end; ++i)
          for (const PathSamples& of : iterations_.samples(order[i])) {
            if (of.samples <= 0) continue;
            std::int64_t& l = in_left_[of.path];
            const std::int64_t all = in_node_[of.path];
            left += x_log_x(l + of.samples) - x_log_x(l);
            right += x_log_x(all - l - of.samples) - x_log_x(all - l);
            l += of.samples;
            moved += of.samples;
          }
        if (end == range.end) break;
        here = {2 * (left - x_log_x(moved) + right - x_log_x(samples_ - moved) - whole) - least, least, v,
                std::midpoint(value(v, order[at]), value(v, order[end]))};
        offer_paths_of(at, end);
        at = end;
      }
      for (const std::uint32_t path : hit_) in_left_[path] = 0;
    }
    return best;
  }

  double gain_of_one_path(std::uint32_t path, std::int64_t moved) const {
    const std::int64_t left = in_left_[path];
    return gain_of_one(left, moved, in_node_[path] - left, samples_ - moved);
  }

  std::size_t divide(const Range& range, const Split& split) {
    std::size_t left = 0;
    for (std::size_t at = range.begin; at < range.end; ++at) {
      const std::uint32_t i = order_[0][at];
      left += goes_left_[i] = value(split.variable, i) <= split.most;
    }
    for (auto& order : order_) {
      std::size_t to = range.begin, others = 0;
      for (std::size_t at = range.begin; at < range.end; ++at)
        (goes_left_[order[at]] ? order[to++] : spare_[others++]) = order[at];
      std::copy_n(spare_.begin(), others, order.begin() + static_cast<std::ptrdiff_t>(to));
    }
    return range.begin + left;
  }

  const SampledIterations& iterations_;
  ShareTree& tree_;
  std::array<std::vector<std::uint32_t>, ShareVariables::count> order_;
  std::vector<std::uint32_t> spare_;
  std::vector<std::uint8_t> goes_left_;
  // Of the current node.
  std::vector<std::uint32_t> hit_;  ///< call paths with samples
  std::vector<std::int64_t> in_node_, in_left_;
  std::vector<std::array<std::int64_t, 4>> in_quarter_;
  std::int64_t samples_ = 0;
};

ShareTree ShareTree::grow(const SampledIterations& iterations, std::span<const Share> outside) {
  ShareTree tree;
  Grower(iterations, tree).grow(outside);
  return tree;
}

bool ShareTree::explains(const SampledIterations& others, const ShareTree& own) const {
  std::map<std::size_t, std::map<std::uint32_t, std::int64_t>> theirs;  // by leaf
  for (std::size_t i = 0; i < others.size(); ++i)
    for (const PathSamples& of : others.samples(i))
      if (of.samples > 0) theirs[leaf_of(others.variables(i))][of.path] += of.samples;
  struct OfOne {
    double hits = 0, expected = 0;
  };
  std::map<std::uint32_t, OfOne> of_one;  // by call path
  double shared = 0;
  for (const auto& [leaf, hits] : theirs) {
    const Leaf& ours = leaves_[leaf];
    std::vector<PathSamples> both = ours.hits;
    std::int64_t samples = 0;
    for (const auto& [path, n] : hits) {
      samples += n;
      const auto at = std::ranges::lower_bound(both, path, {}, &PathSamples::path);
      if (at != both.end() && at->path == path) at->samples += n;
      else both.insert(at, {path, n});
      of_one[path].hits += static_cast<double>(n);
    }
    shared += twice_log_likelihood(both) - twice_log_likelihood(ours.hits);
    const double part = static_cast<double>(samples) / static_cast<double>(samples + ours.samples);
    for (const PathSamples& of : both) of_one[of.path].expected += part * static_cast<double>(of.samples);
  }
  double apart = 0;
  for (const Leaf& leaf : own.leaves_) apart += twice_log_likelihood(leaf.hits);
  const std::int64_t samples = samples_ + own.samples_;
  const std::size_t paths = std::max(paths_hit_, of_one.size());
  if (apart - shared > own.cost_ + least_gain(samples, paths)) return false;
  const double least = least_gain_of_one(samples, paths), n = static_cast<double>(own.samples_);
  return std::ranges::all_of(of_one, [&](const auto& of) {
    return 2 * (statistics::n_log_ratio(of.second.hits, of.second.expected) +
                statistics::n_log_ratio(n - of.second.hits, n - of.second.expected)) <=
           least;
  });
}

std::size_t ShareSplits::leaf_of(const ShareVariables& of) const {
  std::size_t at = 0;
  while (nodes[at].children[0] != 0) at = nodes[at].children[of.value[nodes[at].variable] > nodes[at].most];
  return nodes[at].leaf;
}

bool ShareSplits::is_sound() const {
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const Node& node = nodes[at];
    if (node.children[0] == 0) continue;
    const auto [least, most] = std::ranges::minmax(node.children);
    if (least <= at || most >= nodes.size() || node.variable >= ShareVariables::count) return false;
  }
  return !nodes.empty();
}

}  // namespace refrain::run
