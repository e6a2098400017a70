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
///    chance; what they ask for by chance stays missed (apart()).
/// 3. Time on a CPU is between what is certain of each iteration. Where between, says the pool's W_user : W_mpi; then
///    it is made to add up, too. This, and what samples without a call path stand for, is one for the classes of a
///    tree.
///
/// A class may exclude call paths: what lies below MPI calls or regions that are not in it was not called. Iterations
/// of such a class share the tree of others, but have pools of their own, without these call paths.
///
/// The error of a share p is sqrt(p (1 - p) / n), n being the samples of the pool; and 1 / n at least: a path that no
/// sample hit has less than 3 / n with 95 % probability. Added to its square is the variance of the shares of the
/// pool's iterations, where their samples show more than chance. What changes little by little gains too little for a
/// split, and iterations of few samples do not show it. So where the quarters of a pool, by number or by user time,
/// differ by more than chance, the standard deviation of what is beyond chance is the error, if it is larger.
///
/// Pure: plain numbers in and out, no experiment. In this order: learn() for the kept iterations, grow(), weigh() for
/// all iterations, settle(); then pool_of() and on_cpu(). Memory: the kept samples until grow(), then pools times call
/// paths and a number for each pair of cluster and pool; nothing grows with the iterations.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

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
  struct Iteration {
    std::int32_t cluster = 0;
    bool kept = false;  ///< its samples are
    ShareVariables variables;
    double least_on_cpu = 0, most_on_cpu = 0, cpu = 0;  ///< what is certain of the user time; CPU time in all
    double user_ticks = 0, mpi_ticks = 0;
  };
  struct Pool {
    double samples = 0;                    ///< n; 0: nothing is known
    std::vector<ShareTree::Share> shares;  ///< ascending by path; they add up to 1
    double without_path = 0;               ///< part of the time on a CPU that is beside these
    double cpu_part = 0;                   ///< of what is between least_on_cpu and most_on_cpu
    std::size_t number = 0;                ///< of pools()

    /// Of a share, or of a sum of shares: they are added up, and so is `spread`.
    double error_of(double share, const ShareSpread& spread) const;
  };

  /// By class: the call paths that its iterations cannot have. Classes that are not listed have any.
  using Excluded = std::map<std::uint32_t, std::vector<bool>>;

  explicit UserShares(std::vector<Cluster> clusters, const Excluded& excluded = {});

  void learn(std::int32_t cluster, const ShareVariables& of, std::span<const PathSamples> samples);
  void grow();
  void weigh(const Iteration& of);
  void settle();

  /// Null: of a cluster that is not there. An iteration that was not weighed may have all exact sums of its group.
  const Pool* pool_of(const Iteration& of) const;
  double on_cpu(const Pool& pool, const Iteration& of) const;
  std::size_t pools() const { return pools_.size(); }
  /// What of the exact sums the iterations of a tree could not be made to add up to, as a part of their time; the
  /// largest.
  double apart() const { return apart_; }

 private:
  struct Weights {
    double least = 0, most = 0, cpu = 0, user_ticks = 0, mpi_ticks = 0;
    void add(const Weights& other);
  };
  /// Iterations in one leaf of a tree whose classes exclude the same call paths.
  struct Place {
    std::size_t leaf, exclusion;
    auto operator<=>(const Place&) const = default;
  };
  /// Members of one cluster in one leaf, those that were kept and the others.
  struct Part {
    Weights kept, others;
  };
  using ClusterAndPlace = std::pair<std::int32_t, Place>;
  /// Classes that share a tree.
  struct Group {
    ShareTree tree;
    double samples = 0;
    std::map<ClusterAndPlace, Part> parts;
    std::map<Place, std::size_t> pool_of_place;           ///< of pools_; places where iterations were weighed
    std::size_t pool_of_rest = 0;                         ///< of the exact sums
    std::map<ClusterAndPlace, std::size_t> pool_of_part;  ///< where those that were not kept have their own
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
  const Class& class_of(std::int32_t cluster) const { return classes_.at(at(cluster).class_index); }
  Place place_of(const Iteration& of) const;
  std::vector<PathSum> not_kept(std::int32_t cluster) const;

  std::vector<Cluster> clusters_;
  std::vector<std::map<std::uint32_t, std::int64_t>> kept_;  ///< samples by cluster and path
  std::map<std::uint32_t, Class> classes_;
  std::vector<std::vector<bool>> exclusions_{{}};  ///< different sets of call paths; the first is empty
  std::vector<Group> groups_;
  std::vector<Pool> pools_;
  std::uint32_t paths_ = 0;  ///< their numbers are below
  double apart_ = 0;
};

}  // namespace refrain::run
