#pragma once
/// From kept iterations to the run.
///
/// A kept iteration is a member of its rank's stratum: the cluster of iterations it belongs to, or without marks the
/// class of its stretch. For a call path the share of waiting in its time over the kept members, times the stratum's
/// exact time in MPI: a ratio estimator (Cochran, Sampling Techniques, chapter 6), which never exceeds the call path.
/// The slowest iterations, if all ranks have them, and time outside of iterations stand for themselves.
///
/// Of classes of stretches only the number of members is known exactly, not the time at each call path: there a class
/// weighs what its number says, and the ratio is one of all classes together.
///
/// Ranks wait in the same iterations. So variances of sums over ranks come from residuals of iterations that are summed
/// over ranks first.

#include <map>
#include <unordered_map>
#include <vector>

#include "offline/patterns/analysis.hpp"

namespace refrain::patterns {

/// Which outputs a quantity belongs to.
using OutputsOf = std::vector<std::vector<std::uint32_t>>;

/// What is added up for the run.
class Estimate {
 public:
  Estimate(const trace::Trace& trace, const Naming& naming, const OutputsOf& outputs_of, std::size_t outputs);

  /// A location of which all events are there, or of which they stand for themselves. `is_wanted`: spans.
  void add_exact(std::uint32_t location, const Findings::OfLocation& found,
                 const std::function<bool(const SpanEnd*)>& is_wanted);
  /// A location with a sample. `loops`: names by SpanEnd::loop.
  void add_sampled(std::uint32_t location, const Findings::OfLocation& found, const std::vector<std::string>& loops,
                   const experiment::Rank& rank);

  /// Makes severities of it.
  void finish(std::vector<PatternResult>& outputs, const std::function<bool(std::uint32_t node)>& is_wanted) const;
  double not_covered_ns() const { return not_covered_ns_; }
  std::uint64_t merged_strata() const { return merged_strata_; }

 private:
  using Cells = std::unordered_map<std::uint32_t, double>;  ///< by cell of a location
  /// Members that were chosen at random among more.
  struct Stratum {
    double count = 0;                 ///< of all members
    std::vector<std::uint32_t> kept;  ///< spans
    double time_ns = 0;               ///< of MPI, for the comparison of strata
  };
  /// Strata with one ratio.
  struct Block {
    Cells time_ns;  ///< exactly, of all members
    std::vector<Stratum> strata;
  };
  struct Location;
  void add_value(std::uint32_t output, std::uint32_t path, std::uint32_t location, double ns);
  void add_census(std::uint32_t location, const Location& of, std::uint32_t span);
  struct Parts;
  Parts parts_of(const Findings::OfLocation& found, const std::vector<std::string>& loops) const;
  void add_time_in_mpi(const Location& of, const experiment::Unit& unit, Block& block);
  static void take_out(const Location& of, std::uint32_t span, Block& block);
  void add_stretches(const Location& of, const Parts& parts);
  void add_loop(const Location& of, std::uint16_t loop_index, const std::string& name, const Parts& parts);
  void add_outside(const Location& of, const Parts& parts);
  void count_not_covered_outside(const Location& of, const Parts& parts);
  struct Scaled;
  void add_block(const Location& of, Block& block);
  void add_errors(const Location& of, const Stratum& stratum, const std::unordered_map<std::uint32_t, Scaled>& scaled);
  void merge_small(std::vector<Block>& blocks);

  struct Residuals {
    std::unordered_map<std::uint32_t, double> of;  ///< by iteration
    double variance() const;
  };
  std::uint32_t iteration_index(std::uint16_t loop, std::int64_t number);
  void add_doubt(const Location& of, std::uint32_t cell, const Scaled& scaled);

  const trace::Trace& trace_;
  const Naming& naming_;
  const OutputsOf& outputs_of_;
  std::vector<std::map<std::pair<std::uint32_t, std::uint32_t>, double>> values_;  ///< by output; by node and location
  std::uint32_t doubts_ = 0;
  std::vector<Residuals> residuals_;                                ///< by output
  std::vector<std::map<std::uint32_t, Residuals>> node_residuals_;  ///< by output, by node
  std::vector<std::map<std::uint32_t, double>> location_variance_;  ///< by output, by location
  std::map<std::pair<std::uint16_t, std::int64_t>, std::uint32_t> iterations_;
  double not_covered_ns_ = 0;
  std::uint64_t merged_strata_ = 0;
};

}  // namespace refrain::patterns
