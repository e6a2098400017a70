#include "analysis/share_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace refrain::analysis {
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

}  // namespace

double least_gain(std::int64_t samples, std::size_t paths) {
  return (static_cast<double>(paths) + 1) * std::log(static_cast<double>(std::max<std::int64_t>(samples, 1)));
}

void SampledIterations::add(const ShareVariables& of, std::span<const PathSamples> samples) {
  variables_.push_back(of);
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  first_.push_back(samples_.size());
}

/// Keeps the iterations in the order of each variable. A node is the same range of all these orders.
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
    tree_.nodes_.push_back({});
    while (!open.empty()) {
      Range range = std::move(open.back());
      open.pop_back();
      count(range);
      std::vector<Share> shares = shares_of(range);
      const Split split = best(range);
      if (split.gain <= least_gain(samples_, hit_.size())) {
        tree_.nodes_[range.node].leaf = static_cast<std::uint32_t>(tree_.leaves_.size());
        tell_quarters_apart(range, shares);
        tree_.leaves_.push_back({samples_, std::move(shares)});
        continue;
      }
      const std::size_t middle = divide(range, split);
      const auto child = static_cast<std::uint32_t>(tree_.nodes_.size());
      tree_.nodes_.resize(tree_.nodes_.size() + 2);
      tree_.nodes_[range.node] = {split.variable, split.most, {child, child + 1}, 0};
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
    double gain = 0;
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

  /// Of few samples: as if there were one more, divided as the node above.
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
    if (samples_ < enough_samples) return;
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
            of.apart[first + q] = static_cast<float>(
                static_cast<double>(in_quarter_[of.path][q]) / static_cast<double>(size[q]) - of.share);
      for (const std::uint32_t path : hit_) in_quarter_[path] = {};
      first += size.size();
    }
  }

  Split best(const Range& range) {
    Split best;
    if (hit_.size() < 2) return best;
    double whole = -x_log_x(samples_);
    for (const std::uint32_t path : hit_) whole += x_log_x(in_node_[path]);
    for (std::size_t v = 0; v < ShareVariables::count; ++v) {
      const auto& order = order_[v];
      if (value(v, order[range.begin]) == value(v, order[range.end - 1])) continue;
      double left = 0, right = whole + x_log_x(samples_);
      std::int64_t moved = 0;
      for (std::size_t at = range.begin; at + 1 < range.end; ++at) {
        for (const PathSamples& of : iterations_.samples(order[at])) {
          if (of.samples <= 0) continue;
          std::int64_t& l = in_left_[of.path];
          const std::int64_t all = in_node_[of.path];
          left += x_log_x(l + of.samples) - x_log_x(l);
          right += x_log_x(all - l - of.samples) - x_log_x(all - l);
          l += of.samples;
          moved += of.samples;
        }
        const std::int64_t here = value(v, order[at]), next = value(v, order[at + 1]);
        if (here == next) continue;
        const double gain = 2 * (left - x_log_x(moved) + right - x_log_x(samples_ - moved) - whole);
        if (gain > best.gain) best = {gain, v, std::midpoint(here, next)};
      }
      for (const std::uint32_t path : hit_) in_left_[path] = 0;
    }
    return best;
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
  // Of the node in hand.
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

std::size_t ShareTree::leaf_of(const ShareVariables& of) const {
  std::size_t at = 0;
  while (nodes_[at].children[0] != 0) at = nodes_[at].children[of.value[nodes_[at].variable] > nodes_[at].most];
  return nodes_[at].leaf;
}

}  // namespace refrain::analysis
