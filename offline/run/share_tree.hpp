#pragma once
/// Pools of iterations whose user code is divided alike: a tree over what is known exactly of every iteration.
///
/// The samples of one iteration are too few to say how its user time is divided, and clusters cannot say it either:
/// they are made by MPI calls. But samples of many iterations together tell at which iteration, user time, number of
/// calls or bytes the division changes. The tree is grown over the iterations whose samples were kept. The gain of a
/// split is 2 (log L of both parts - log L of the node), L being the likelihood of the samples, either
///
/// - multinomial, of all call paths. It must be above (m - 1) ln n + 2 ln n, m being the call paths hit and n the
///   samples of the node (Schwarz's criterion, the second part for the variable and the value), or
/// - binomial, of one call path against the rest. It must be above ln n + 2 ln n + 2 ln m, the last part for the choice
///   of the call path. So a function that begins to be called is found among many call paths with few samples.
///
/// A node is split at the variable and value where a gain is furthest above what it must be. A leaf is a pool.
///
/// How often a split is found where there is none: in at most 1 of 100 loops of 225 samples and 2 call paths, the worst
/// case, in fewer with more of either (tests/unit/run/user_shares_test.cpp has the rates).
///
/// Pure: needs no experiment. Memory and time: 4 bytes a variable and iteration with samples; O(samples x depth).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace refrain::run {

/// What iterations are told apart by.
struct ShareVariables {
  enum : std::size_t { number, user_time, calls, bytes_sent, bytes_received, count };
  std::array<std::int64_t, count> value{};
};

struct PathSamples {
  std::uint32_t path;
  std::int64_t samples;
};

/// Fewer samples than this say less than what they are a part of.
inline constexpr std::int64_t enough_samples = 10;

/// What must be gained by telling apart two parts of a pool of `samples` on `paths` call paths.
double least_gain(std::int64_t samples, std::size_t paths);

/// The same, by one of these call paths against the rest.
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

/// How the iterations of a leaf differ on one call path. Of several call paths: the sum.
struct ShareSpread {
  /// What sets each quarter of the leaf's samples apart from all of them: four in the order of the iterations' numbers,
  /// then four in the order of their user times.
  std::array<float, 8> quarters{};
  /// Of the iterations' shares, beyond chance; 0 where it is less than 3 of its standard errors.
  float variance = 0;
  float variance_of_one = 0;  ///< p (1 - p), p being the share: of one sample

  ShareSpread& operator+=(const ShareSpread& other);
  /// Of the shares of the iterations on the call paths that were added up, `share` in all. They take time from each
  /// other: all of them together have 1 in each iteration.
  double variance_of(double share) const;
};

/// Which leaf of a tree an iteration is in.
struct ShareSplits {
  struct Node {
    std::size_t variable = 0;
    std::int64_t most = 0;                    ///< goes to the first child up to this value
    std::array<std::uint32_t, 2> children{};  ///< above the node's own number; 0, 0: a leaf
    std::uint32_t leaf = 0;
  };
  std::vector<Node> nodes;  ///< the root first

  std::size_t leaf_of(const ShareVariables& of) const;
  /// Whether every way from the root ends.
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
    std::vector<Share> shares;      ///< ascending by path, above 0; they add up to 1, none without samples
  };

  /// Without iterations: one leaf. `outside`: what all samples say, also of iterations that were not kept; shares that
  /// add up to 1, ascending by path. A leaf of fewer than `enough_samples` samples is drawn to the node above it, as if
  /// there were one sample more that is divided as that node; a root of so few has the shares of `outside`.
  static ShareTree grow(const SampledIterations& iterations, std::span<const Share> outside);

  /// Whether the samples of `others` need no tree of their own. What is gained by `own`, which was grown from them, is
  /// then less than what it must gain, by its splits and by being a tree; and no call path is hit more or less often
  /// than this tree's leaves say, by the binomial criterion.
  bool explains(const SampledIterations& others, const ShareTree& own) const;

  std::size_t leaf_of(const ShareVariables& of) const { return splits_.leaf_of(of); }
  const ShareSplits& splits() const { return splits_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }

 private:
  class Grower;

  ShareSplits splits_;
  std::vector<Leaf> leaves_;
  double cost_ = 0;            ///< what its splits had to gain
  std::size_t paths_hit_ = 0;  ///< by all samples
  std::int64_t samples_ = 0;
};

}  // namespace refrain::run
