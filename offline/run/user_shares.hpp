#pragma once
/// How the user time of every iteration of a loop of one location is divided: on which call paths, and how much of it
/// was not on a CPU.
///
/// Trees of pools are grown from the samples that were kept (share_tree.hpp), one a class of iterations. But a class
/// whose samples the tree of another class explains as well as one of its own shares that tree, which is grown from the
/// samples of both: so classes of few samples are divided as their neighbours are. The division of an iteration is that
/// of its pool, whether its own samples were kept or not, and its time is its own, exactly. Then:
///
/// 1. What is known of the iterations without kept samples is the exact sum over a cluster less the samples of the kept
///    members. Where that differs from what the pools say by more than chance (the gain of share_tree.hpp's criterion),
///    these members are raked to it (raking.hpp).
/// 2. All iterations of the classes that share a tree are raked to the exact sums of these classes. So iterations add
///    up to the run. An iteration has a call path that its pool never hit only where the sums ask for it by more than
///    chance; what they ask for by chance stays missed.
/// 3. Time on a CPU is between what is certain of each iteration. Where between, says the pool's W_user : W_mpi; then
///    it is made to add up, too. This, and what samples without a call path stand for, is one for the classes of a
///    tree.
///
/// A class may exclude call paths: what lies below MPI calls or regions that are not in it was not called. Iterations
/// of such a class share the tree of others, but have pools of their own, without these call paths.
///
/// Pure: plain numbers in and out, no experiment. In this order: learn() for the kept iterations, grow(), weigh() for
/// all iterations, settle(), which returns the pools (share_pools.hpp). Memory: the kept samples until grow(), then
/// pools times call paths and a number for each pair of cluster and pool; nothing grows with the iterations.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "offline/run/share_pools.hpp"
#include "offline/run/share_tree.hpp"

namespace refrain::run {

class UserShares {
 public:
  struct PathSum {
    std::uint32_t path;
    std::int64_t samples;
    double time;  ///< by the time rules
  };
  /// Exact sums over the members of a cluster. Times in any unit, the same everywhere.
  struct Cluster {
    std::uint32_t class_index = 0;
    bool alone = false;       ///< its iteration is known as it was: it takes no part but by its samples
    double on_cpu = 0;        ///< user time on a CPU, by the time rules
    double without_path = 0;  ///< part of it that samples without a call path stand for
    double user_ticks = 0, user_weight = 0, mpi_ticks = 0, mpi_weight = 0;
    std::vector<PathSum> paths;  ///< ascending by path; with samples or time
  };
  using Iteration = SharePools::Iteration;

  /// By class: the call paths that its iterations cannot have. Classes that are not listed have any.
  using Excluded = std::map<std::uint32_t, std::vector<bool>>;

  explicit UserShares(std::vector<Cluster> clusters, const Excluded& excluded = {});

  void learn(std::int32_t cluster, const ShareVariables& of, std::span<const PathSamples> samples);
  void grow();
  void weigh(const Iteration& of);
  /// Nothing is left here then.
  SharePools settle();

 private:
  using Place = SharePools::Place;
  using ClusterAndPlace = SharePools::ClusterAndPlace;
  struct Weights {
    double least = 0, most = 0, cpu = 0, user_ticks = 0, mpi_ticks = 0;
    void add(const Weights& other);
  };
  /// Members of one cluster in one leaf, those that were kept and the others.
  struct Part {
    Weights kept, others;
  };
  /// Classes that share a tree.
  struct Group {
    ShareTree tree;
    double samples = 0;
    std::map<ClusterAndPlace, Part> parts;
  };
  struct Class {
    SampledIterations kept;
    std::map<std::uint32_t, double> times;  ///< exact sums by call path
    std::int64_t kept_samples = 0;
    double samples = 0;
    std::size_t group = 0;
    std::size_t exclusion = 0;  ///< of exclusions_
  };
  class Settling;
  bool has(std::int32_t cluster) const { return cluster >= 0 && static_cast<std::size_t>(cluster) < clusters_.size(); }
  const Cluster& at(std::int32_t cluster) const { return clusters_[static_cast<std::size_t>(cluster)]; }
  std::vector<PathSum> not_kept(std::int32_t cluster) const;

  std::vector<Cluster> clusters_;
  std::vector<std::map<std::uint32_t, std::int64_t>> kept_;  ///< samples by cluster and path
  std::map<std::uint32_t, Class> classes_;
  std::vector<std::vector<bool>> exclusions_{{}};  ///< different sets of call paths; the first is empty
  std::vector<Group> groups_;
  std::uint32_t paths_ = 0;  ///< their numbers are below
  SharePools found_;         ///< its groups are those of groups_
};

}  // namespace refrain::run
