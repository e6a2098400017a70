#pragma once
/// The rules look at this: a whole experiment, read once.

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

/// A marked loop as the first threads of ranks have it.
struct LoopFacts {
  /// Iterations that follow each other, those of even numbers and those of odd ones: what is chosen by one half is
  /// measured by the other.
  struct Piece {
    std::array<double, 2> user_s{}, mpi_s{}, iterations{};
  };
  static constexpr std::size_t pieces = 32;

  std::string name;
  std::int64_t iterations = 0;          ///< of the rank that has most
  std::vector<run::LoopPlace> ranks;    ///< those that were read
  bool has_all_ranks = true;            ///< else there is too much to read of them all
  std::int64_t iterations_to_read = 0;  ///< of one rank, and as many for what its clusters have, by call path
  /// `wall_s` has the mean of so many consecutive iterations; 1: every iteration has its own value.
  std::int64_t stride = 1;
  std::vector<double> wall_s;          ///< seconds of an iteration, the mean over ranks; NaN: not all of them have it
  std::vector<double> longest_user_s;  ///< likewise, of the rank that is longest outside of MPI; with a stride, of sums
  analysis::IterationShape shape;      ///< of wall_s
  std::size_t processes = 0;           ///< that have the loop
  std::vector<std::array<Piece, pieces>> user;  ///< by rank: time outside of MPI

  std::size_t value_of(std::size_t iteration) const { return iteration / static_cast<std::size_t>(stride); }
  std::size_t piece_of(std::size_t iteration) const;
};

/// Finds the loops of first threads; those of other threads follow these.
class LoopFinder {
 public:
  /// `experiment` must outlive it.
  explicit LoopFinder(const experiment::Experiment& experiment) : experiment_(experiment) {}
  /// `rank` was read with its loops. Ranks are added in ascending order.
  void add(const experiment::Rank& rank);

  std::vector<LoopFacts> loops;  ///< in which nothing is read

 private:
  const experiment::Experiment& experiment_;
};

struct Facts {
  const experiment::Experiment& experiment;
  const analysis::CallTree& tree;
  const analysis::MinimumWaits& minima;
  std::vector<LoopFacts> loops;
  bool has_loops = false;  ///< a LoopFinder has found them; else read_loops() looks for them

  /// Shares are of the elapsed time of all ranks, that of their first threads: helper threads that wait add nothing.
  double elapsed_s() const { return analysis::elapsed_s(tree); }
  /// The first threads of all ranks.
  std::vector<const analysis::LocationSummary*> first_threads() const;
  /// Own time of user functions, by thread and node of the tree.
  using TakeUserTime = std::function<void(std::int32_t rank, std::int32_t thread, std::uint32_t node, double seconds)>;
  void for_each_user_time(const TakeUserTime& take) const;
  /// Null: it cannot be read.
  std::shared_ptr<const run::OpenLoop> open(const run::LoopPlace& of) const { return run::open_loop(experiment, of); }
};

/// At most so many values of iterations are read: more ranks are left out, but for the first one.
inline constexpr std::int64_t most_iterations_read = 2'000'000;
/// A series has no more values.
inline constexpr std::int64_t most_values = 500'000;
/// Fills `facts.loops`.
void read_loops(Facts& facts);

}  // namespace refrain::findings
