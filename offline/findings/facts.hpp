#pragma once
/// What the rules look at: a whole experiment, read once.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/iteration_shape.hpp"
#include "offline/analysis/minimum_waits.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/run/loops.hpp"

namespace refrain::findings {

/// A marked loop on the first threads of ranks.
struct LoopFacts {
  /// Consecutive iterations, the even and the odd ones apart: a choice by one half is measured by the other.
  struct Piece {
    std::array<double, 2> user_s{}, mpi_s{}, iterations{};
  };
  static constexpr std::size_t pieces = 32;

  std::string name;
  std::int64_t iterations = 0;          ///< of the rank with most
  std::vector<run::LoopPlace> ranks;    ///< the ranks that were read
  bool has_all_ranks = true;            ///< else there is too much to read of them all, or one cannot be read
  std::int64_t iterations_to_read = 0;  ///< of one rank, plus its clusters times call paths, which also take time
  /// `wall_s` has the mean of this many consecutive iterations; 1: every iteration has its own value.
  std::int64_t stride = 1;
  std::vector<double> wall_s;          ///< seconds of an iteration, the mean over ranks; NaN: not all ranks have it
  std::vector<double> longest_user_s;  ///< time outside of MPI of the longest rank there; with a stride, of sums
  analysis::IterationShape shape;      ///< of wall_s
  std::size_t processes = 0;           ///< number of processes that have the loop
  std::vector<std::array<Piece, pieces>> user;  ///< by rank: times outside of and in MPI

  std::size_t value_of(std::size_t iteration) const { return iteration / static_cast<std::size_t>(stride); }
  std::size_t piece_of(std::size_t iteration) const;
};

/// Finds the loops of the first threads, which the other threads follow.
class LoopFinder {
 public:
  /// `experiment` must outlive it.
  explicit LoopFinder(const experiment::Experiment& experiment) : experiment_(experiment) {}
  /// `rank` must have been read with its loops. Ranks are added in ascending order.
  void add(const experiment::Rank& rank);

  std::vector<LoopFacts> loops;  ///< without their iterations, which read_loops() reads

 private:
  const experiment::Experiment& experiment_;
};

struct Facts {
  const experiment::Experiment& experiment;
  const analysis::CallTree& tree;
  const analysis::MinimumWaits& minima;
  std::vector<LoopFacts> loops;
  bool has_loops = false;  ///< a LoopFinder has found them; else read_loops() looks for them

  /// Shares are of the elapsed time of all ranks, summed over their first threads: waiting helper threads add nothing.
  double elapsed_s() const { return analysis::elapsed_s(tree); }
  /// The first threads of all ranks.
  std::vector<const analysis::LocationSummary*> first_threads() const;
  /// Takes the exclusive time of user functions, by thread and node of the tree.
  using TakeUserTime = std::function<void(std::int32_t rank, std::int32_t thread, std::uint32_t node, double seconds)>;
  void for_each_user_time(const TakeUserTime& take) const;
  /// Null: the loop cannot be read.
  std::shared_ptr<const run::OpenLoop> open(const run::LoopPlace& of) const { return run::open_loop(experiment, of); }
};

/// Maximum number of values of iterations that are read: further ranks are left out, except the first one.
inline constexpr std::int64_t most_iterations_read = 2'000'000;
/// Maximum number of values of a series.
inline constexpr std::int64_t most_values = 500'000;
/// Fills `facts.loops`.
void read_loops(Facts& facts);

}  // namespace refrain::findings
