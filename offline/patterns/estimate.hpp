#pragma once
/// Extrapolates from kept iterations to the run.
///
/// A kept iteration is a member of its rank's stratum: the cluster of iterations that it belongs to or, without marks,
/// the class of its stretch. For each stratum the profile has the exact time and number of calls of every call path.
/// The kept members get weights with which their sums match both: a regression estimator by calibration (Deville and
/// Sarndal, 1992), which never exceeds the call path, and keeps a pattern within the one that it is a part of. With few
/// members only the time is matched: a ratio estimator (Cochran, Sampling Techniques, chapter 6). The slowest
/// iterations, if all ranks have them, and time outside of iterations stand for themselves.
///
/// How long a call waited for messages is known only if the other ends were kept. Within an iteration they always are;
/// for messages from one iteration to the next they are if both iterations were kept. That is a matter of chance if one
/// iteration was kept because it precedes the other, so what such calls say stands for all calls whose messages cross
/// iterations (an estimate for a domain, chapter 2.13).
///
/// For classes of stretches only the number of members is known exactly, not the time at each call path: a class is
/// weighted by its number of members, and one ratio applies to all classes together.
///
/// Ranks and call sites wait in the same iterations. The differences between kept iterations therefore go into
/// replicates, in which an iteration has the same signs everywhere, and errors of sums come from these
/// (run::Replicates). For a single location, the residuals of each iteration are available themselves.

#include <array>
#include <map>
#include <span>
#include <vector>

#include "offline/patterns/analysis.hpp"
#include "offline/run/quantities.hpp"

namespace refrain::patterns {

/// What a quantity contributes to.
struct Meaning {
  std::vector<std::uint32_t> outputs;  ///< outputs to which the quantity is added
  unsigned sides = no_side;            ///< sides of messages that it depends on: Sides
  bool is_doubted = false;             ///< calls whose waiting is not known may have waited in this way
};
using Meanings = std::vector<Meaning>;  ///< by quantity

/// The sums for the run.
class Estimate {
 public:
  /// `loops`: names by SpanEnd::loop. `untold`: the output for the time of calls that may have waited, if nothing that
  /// was kept says how long.
  Estimate(const trace::Trace& trace, const Naming& naming, const Meanings& meanings, std::size_t outputs,
           std::uint32_t untold, const std::vector<std::string>& loops);

  /// Adds a location whose events are complete or stand for themselves. `is_wanted`: selects spans; empty: all.
  void add_exact(std::uint32_t location, const Findings::OfLocation& found,
                 const std::function<bool(const SpanEnd*)>& is_wanted);
  /// Adds a location with a sample.
  void add_sampled(std::uint32_t location, const Findings::OfLocation& found, const experiment::Rank& rank);

  /// Raises `whole` to at least each of `parts` at every node and location: `whole` may be known for fewer calls.
  void contain(std::uint32_t whole, std::span<const std::uint32_t> parts);
  /// Turns the sums into severities.
  void finish(std::vector<PatternResult>& outputs, const std::function<bool(std::uint32_t node)>& is_wanted) const;
  double not_covered_ns() const { return not_covered_ns_; }
  /// Time of calls with messages on these sides of which next to nothing is known, because hardly any call of their
  /// kind was kept with its other ends.
  double unknown_ns(unsigned sides) const { return unknown_ns_[sides]; }
  /// Sum of an output, before finish() selects nodes.
  double sum_ns(std::size_t output) const;
  std::uint64_t merged_strata() const { return merged_strata_; }
  /// Number of ranks whose replicates form one sum: PatternResult::Replicated::rank is a multiple of it.
  std::int32_t ranks_in_block() const { return ranks_in_block_; }

 private:
  using Cells = std::map<std::uint32_t, double>;  ///< by cell of a location
  /// A set of members from which the kept ones were chosen at random.
  struct Stratum {
    double count = 0;                      ///< number of all members
    std::vector<std::uint32_t> kept;       ///< spans
    std::vector<std::uint32_t> preceding;  ///< spans that precede members of the sample without being members
    double time_ns = 0;                    ///< in MPI, for the comparison of strata
    /// Number of members that each kept one stands for.
    double weight() const { return kept.empty() ? 0 : count / static_cast<double>(kept.size()); }
  };
  /// Strata that share one ratio.
  struct Block {
    Cells time_ns, calls;  ///< exact sums over all members
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
