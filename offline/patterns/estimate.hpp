#pragma once
/// From kept iterations to the run.
///
/// A kept iteration is a member of its rank's stratum: the cluster of iterations it belongs to, or without marks the
/// class of its stretch. Of a call path the profile has the exact time and number of calls of each stratum. The kept
/// members get weights such that together they have both: a regression estimator by calibration (Deville and Sarndal,
/// 1992), which never exceeds the call path, and keeps a pattern within the one that it is a part of. With few members
/// the time alone is made right: a ratio estimator (Cochran, Sampling Techniques, chapter 6). The slowest iterations,
/// if all ranks have them, and time outside of iterations stand for themselves.
///
/// What a call has waited for messages is known only where the other ends were kept. Within an iteration they always
/// are; of messages from one iteration to the next they are where both were kept. That is a matter of chance where the
/// one was kept because it comes before the other: so what such calls say stands for all whose messages cross (an
/// estimate for a domain, chapter 2.13).
///
/// Of classes of stretches only the number of members is known exactly, not the time at each call path: there a class
/// weighs what its number says, and the ratio is one of all classes together.
///
/// Ranks and call sites wait in the same iterations. So what kept iterations differ by goes into replicates, in which
/// an iteration has the same signs everywhere, and errors of sums come from these (run::Replicates). Of one location
/// the residuals of each iteration are there themselves.

#include <array>
#include <map>
#include <span>
#include <vector>

#include "offline/patterns/analysis.hpp"
#include "offline/run/quantities.hpp"

namespace refrain::patterns {

/// Of a quantity.
struct Meaning {
  std::vector<std::uint32_t> outputs;  ///< that it belongs to
  unsigned sides = no_side;            ///< of messages that it depends on: Sides
  bool is_doubted = false;             ///< calls may have waited so of which it is not known
};
using Meanings = std::vector<Meaning>;  ///< by quantity

/// What is added up for the run.
class Estimate {
 public:
  /// `loops`: names by SpanEnd::loop. `untold`: the output for the time of calls that may have waited, where nothing
  /// that was kept says for how long.
  Estimate(const trace::Trace& trace, const Naming& naming, const Meanings& meanings, std::size_t outputs,
           std::uint32_t untold, const std::vector<std::string>& loops);

  /// A location of which all events are there, or of which they stand for themselves. `is_wanted`: spans.
  void add_exact(std::uint32_t location, const Findings::OfLocation& found,
                 const std::function<bool(const SpanEnd*)>& is_wanted);
  /// A location with a sample.
  void add_sampled(std::uint32_t location, const Findings::OfLocation& found, const experiment::Rank& rank);

  /// Nowhere an output is less than any of these: it may be known of fewer calls.
  void contain(std::uint32_t whole, std::span<const std::uint32_t> parts);
  /// Makes severities of it.
  void finish(std::vector<PatternResult>& outputs, const std::function<bool(std::uint32_t node)>& is_wanted) const;
  double not_covered_ns() const { return not_covered_ns_; }
  /// Time of calls with messages on these sides of which next to nothing is known, as hardly one of their kind was kept
  /// with its other ends.
  double unknown_ns(unsigned sides) const { return unknown_ns_[sides]; }
  /// Of an output, before finish() chooses nodes.
  double sum_ns(std::size_t output) const;
  std::uint64_t merged_strata() const { return merged_strata_; }
  /// Replicates are those of so many ranks together: what PatternResult::Replicated::rank is a multiple of.
  std::int32_t ranks_in_block() const { return ranks_in_block_; }

 private:
  using Cells = std::map<std::uint32_t, double>;  ///< by cell of a location
  /// Members that were chosen at random among more.
  struct Stratum {
    double count = 0;                      ///< of all members
    std::vector<std::uint32_t> kept;       ///< spans
    std::vector<std::uint32_t> preceding;  ///< spans that are no members of the sample, before some of its members
    double time_ns = 0;                    ///< of MPI, for the comparison of strata
    /// For how many one of the kept ones stands.
    double weight() const { return kept.empty() ? 0 : count / static_cast<double>(kept.size()); }
  };
  /// Strata with one ratio.
  struct Block {
    Cells time_ns, calls;  ///< exactly, of all members
    std::vector<Stratum> strata;
  };
  struct Location;
  void add_value(std::uint32_t output, std::uint32_t path, std::uint32_t location, double ns);
  void add_census(std::uint32_t location, Location& of, std::uint32_t span);
  struct Parts;
  Parts parts_of(const Findings::OfLocation& found) const;
  void add_time_in_mpi(const Location& of, const experiment::Unit& unit, Block& block);
  static void take_out(const Location& of, std::uint32_t span, Block& block);
  void add_stretches(Location& of, const Parts& parts);
  void add_loop(Location& of, std::uint16_t loop_index, const std::string& name, const Parts& parts);
  void add_outside(Location& of, const Parts& parts);
  void count_not_covered_outside(const Location& of, const Parts& parts);
  struct Group;
  template <class Take>
  static void for_each_group(std::span<const Findings::Row> rows, const Take& take);
  struct Sums;
  struct Calibration;
  struct Scaled;
  struct Domain;
  using Domains = std::map<std::pair<std::uint32_t, unsigned>, Domain>;  ///< by cell and sides
  struct Sampled;
  void add_block(Location& of, Block& block);
  void add_errors(const Location& of, const Sampled& sampled, const Stratum& stratum);
  void merge_small(std::vector<Block>& blocks);

  run::Signs signs_of(const SpanEnd& iteration) const;
  void add_residual(const Location& of, std::uint32_t output, std::uint32_t node, run::Signs signs, double residual);
  void add_doubt(const Location& of, std::uint32_t cell, const Scaled& scaled, unsigned block);
  void add_doubt(const Location& of, std::uint32_t cell, run::Signs signs, Quantity quantity, double deviation);
  void add_known(const Location& of, const Stratum& stratum, const std::map<std::uint32_t, Scaled>& scaled,
                 Domains& domains) const;
  bool is_known_by_chance(const Location& of, std::uint32_t span, unsigned sides) const;
  void fit(const Location& of, Sampled& sampled) const;
  void finish_location(Location& of);
  void add_domains(const Location& of, Domains& domains);
  std::uint32_t node_of(const Location& of, std::uint32_t cell) const;

  const trace::Trace& trace_;
  const Naming& naming_;
  const Meanings& meanings_;
  const std::uint32_t untold_;
  const std::vector<std::string>& loops_;
  std::vector<std::map<std::pair<std::uint32_t, std::uint32_t>, double>> values_;  ///< by output; by node and location
  std::vector<std::map<std::pair<std::uint32_t, std::int32_t>, run::Replicates>>
      replicates_;                                                  ///< by output; by node and block of ranks
  std::vector<std::map<std::uint32_t, double>> location_variance_;  ///< by output, by location
  std::vector<std::uint64_t> loop_numbers_;                         ///< by SpanEnd::loop, the same in every search
  std::int32_t ranks_in_block_ = 1;
  double not_covered_ns_ = 0;
  std::array<double, (side_of_receives | side_of_sends) + 1> unknown_ns_{};  ///< by sides
  std::uint64_t merged_strata_ = 0;
};

}  // namespace refrain::patterns
