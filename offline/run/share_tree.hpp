#pragma once
/// A tree that sorts iterations into pools whose user code is divided alike, by what is known exactly of every
/// iteration.
///
/// The samples of one iteration are too few to tell how its user time is divided, and clusters cannot tell it either,
/// because they are made by MPI calls. But samples of many iterations together show at which iteration, user time,
/// number of calls or bytes the division changes. The tree is grown over the iterations whose samples were kept. The
/// gain of a split is 2 (log L of both parts - log L of the node), L being the likelihood of the samples, either
///
/// - multinomial, of all call paths. The gain must exceed (m - 1) ln n + 2 ln n, m being the number of call paths hit
///   and n that of the samples of the node (Schwarz's criterion, the second part for the variable and the value), or
/// - binomial, of one call path against the rest. The gain must exceed ln n + 2 ln n + 2 ln m, the last part for the
///   choice of the call path. So a function that begins to be called is found among many call paths with few samples.
///
/// A node is split at the variable and value whose gain exceeds the least gain most. A leaf is a pool.
///
/// False splits: in at most 1 of 100 loops of 225 samples and 2 call paths, the worst case; in fewer with more samples
/// or call paths (tests/unit/run/user_shares_test.cpp has the rates).
///
/// Pure: needs no experiment. Memory and time: 4 bytes per variable and iteration with samples; O(samples x depth).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace refrain::run {

/// The variables that distinguish iterations.
struct ShareVariables {
  enum : std::size_t { number, user_time, calls, bytes_sent, bytes_received, count };
  std::array<std::int64_t, count> value{};
};

struct PathSamples {
  std::uint32_t path;
  std::int64_t samples;
};

/// A part with fewer samples than this tells less than the whole that it belongs to.
inline constexpr std::int64_t enough_samples = 10;

/// The least gain that justifies splitting a pool of `samples` samples on `paths` call paths.
double least_gain(std::int64_t samples, std::size_t paths);

/// The least gain by one of these call paths against the rest.
double least_gain_of_one(std::int64_t samples, std::size_t paths);

/// Iterations with their samples.
class SampledIterations {
 public:
  void add(const ShareVariables& of, std::span<const PathSamples> samples);
  void add(const SampledIterations& others);
  std::size_t size() const { return variables_.size(); }
  const ShareVariables& variables(std::size_t i) const { return variables_[i]; }
  std::span<const PathSamples> samples(std::size_t i) const {
    return std::span(samples_).subspan(first_[i], first_[i + 1] - first_[i]);
  }

 private:
  std::vector<ShareVariables> variables_;
  std::vector<std::size_t> first_{0};
  std::vector<PathSamples> samples_;
};

/// How the iterations of a leaf differ in their share of one call path. For several call paths: the sum.
struct ShareSpread {
  /// The share of each quarter of the leaf's samples minus the share of all: four quarters by iteration number, then
  /// four by user time.
  std::array<float, 8> quarters{};
  /// The variance of the iterations' shares beyond chance; 0 if it is less than 3 of its standard errors.
  float variance = 0;
  float variance_of_one = 0;  ///< p (1 - p), p being the share: the variance of one sample

  ShareSpread& operator+=(const ShareSpread& other);
  /// The variance of the iterations' shares of the call paths that were added up, whose sum is `share`. Call paths take
  /// time from each other: the share of all of them is 1 in each iteration.
  double variance_of(double share) const;
};

/// The splits of a tree, which assign an iteration to a leaf.
struct ShareSplits {
  struct Node {
    std::size_t variable = 0;
    std::int64_t most = 0;                    ///< values up to this one go to the first child
    std::array<std::uint32_t, 2> children{};  ///< above the node's own number; 0, 0: a leaf
    std::uint32_t leaf = 0;
  };
  std::vector<Node> nodes;  ///< the root first

  std::size_t leaf_of(const ShareVariables& of) const;
  /// Whether every path from the root ends at a leaf.
  bool is_sound() const;
};

class ShareTree {
 public:
  struct Share {
    std::uint32_t path;
    double share;
    ShareSpread spread{};
  };
  struct Leaf {
    std::int64_t samples = 0;
    std::vector<PathSamples> hits;  ///< ascending by path
    std::vector<Share> shares;      ///< ascending by path, above 0; they add up to 1; empty without samples
  };

  /// Without iterations, the tree has one leaf. `outside`: the shares of all samples, including those of iterations
  /// that were not kept; they add up to 1, ascending by path. A leaf with fewer than `enough_samples` samples is drawn
  /// to its parent, as if it had one more sample, divided like the parent; a root with so few has the shares of
  /// `outside`.
  static ShareTree grow(const SampledIterations& iterations, std::span<const Share> outside);

  /// Whether the samples of `others` need no tree of their own. This holds if the gain of `own`, the tree grown from
  /// them, is less than the least gain for its splits and for another tree, and if by the binomial criterion no call
  /// path is hit more or less often than this tree's leaves say.
  bool explains(const SampledIterations& others, const ShareTree& own) const;

  std::size_t leaf_of(const ShareVariables& of) const { return splits_.leaf_of(of); }
  const ShareSplits& splits() const { return splits_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }

 private:
  class Grower;

  ShareSplits splits_;
  std::vector<Leaf> leaves_;
  double cost_ = 0;            ///< sum of the least gains of its splits
  std::size_t paths_hit_ = 0;  ///< by all samples
  std::int64_t samples_ = 0;
};

}  // namespace refrain::run
