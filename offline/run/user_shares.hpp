#pragma once
/// Divides the user time of every iteration of a loop of one location: among call paths, and into time on and off a
/// CPU.
///
/// Trees of pools are grown from the kept samples (share_tree.hpp), one per class of iterations. But if the tree of
/// another class explains the samples of a class as well as a tree of its own, both classes share one tree, which is
/// grown from the samples of both. So classes with few samples are divided like their neighbours. An iteration is
/// divided like its pool, whether or not its own samples were kept; its time is exactly its own. Then:
///
/// 1. The samples of a cluster's members that were not kept have a known sum: the exact sum over the cluster minus the
///    samples of the kept members. If it differs from the pools by more than chance (the gain of share_tree.hpp's
///    criterion), these members are raked to it (raking.hpp).
/// 2. All iterations of the classes that share a tree are raked to the exact sums of these classes, so iterations add
///    up to the run. An iteration gets a call path that its pool never hit only if the sums require it by more than
///    chance; a difference within chance stays.
/// 3. The time on a CPU of each iteration has certain bounds. The pool's W_user : W_mpi says where between them it is;
///    then the times are made to add up, too. The time on a CPU, and the part that samples without a call path stand
///    for, are settled for all classes of a tree together.
///
/// A class may exclude call paths: functions below which other classes make MPI calls or enter regions, and this class
/// does not (excluded_paths.hpp). Iterations of such a class share the tree of others, but have pools of their own,
/// without these call paths.
///
/// Pure: plain numbers in and out, no experiment. Order of calls: learn() for the kept iterations, grow(), weigh() for
/// all iterations, settle(), which returns the pools (share_pools.hpp). Memory: the kept samples until grow(), then
/// pools times call paths and a number for each pair of cluster and pool; nothing grows with the number of iterations.

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
  /// Exact sums over the members of a cluster. Times may have any unit, the same everywhere.
  struct Cluster {
    std::uint32_t class_index = 0;
    bool alone = false;       ///< its only iteration is known exactly: only its samples take part
    double on_cpu = 0;        ///< user time on a CPU, by the time rules
    double without_path = 0;  ///< part of it that samples without a call path stand for
    double user_ticks = 0, user_weight = 0, mpi_ticks = 0, mpi_weight = 0;
    std::vector<PathSum> paths;  ///< ascending by path; with samples or time
  };
  using Iteration = SharePools::Iteration;

  /// By class: the call paths that its iterations cannot have. Classes that are not listed exclude none.
  using Excluded = std::map<std::uint32_t, std::vector<bool>>;

  explicit UserShares(std::vector<Cluster> clusters, const Excluded& excluded = {});

  void learn(std::int32_t cluster, const ShareVariables& of, std::span<const PathSamples> samples);
  void grow();
  void weigh(const Iteration& of);
  /// Returns the pools, and leaves nothing here.
  SharePools settle();

 private:
  using Place = SharePools::Place;
  using ClusterAndPlace = SharePools::ClusterAndPlace;
  struct Weights {
    double least = 0, most = 0, cpu = 0, user_ticks = 0, mpi_ticks = 0;
    void add(const Weights& other);
  };
  /// Members of one cluster in one leaf: those whose samples were kept, and the others.
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
    std::size_t exclusion = 0;  ///< index in exclusions_
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
  std::uint32_t paths_ = 0;  ///< path numbers are below this
  SharePools found_;         ///< its groups are those of groups_
};

}  // namespace refrain::run
