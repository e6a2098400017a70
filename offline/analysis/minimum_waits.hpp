#pragma once
/// Waiting of the whole run as the durations of calls tell it (waits/estimate.hpp): known of every run, without events.

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "offline/experiment/profile.hpp"
#include "waits/estimate.hpp"
#include "waits/kinds.hpp"

namespace refrain::analysis {

/// Ranks are added one after the other and none is held: an operation of all is compared with the shortest one of any
/// rank, which is known when all are added.
class MinimumWaits {
 public:
  /// `definitions` must outlive it.
  explicit MinimumWaits(const experiment::ProfileDefinitions& definitions);
  void add(const experiment::Rank& rank);
  /// Some rank has durations of calls in which it is known who waits.
  bool any() const { return !groups_.empty(); }

  struct OfPath {
    std::uint32_t path = 0;  ///< of the definitions
    waits::Estimate estimate;
    std::map<std::string_view, double> kinds_s;  ///< its parts; empty: nobody waits in these calls
    /// Of all calls whose durations are known, with those that nobody waits in.
    double calls = 0, time_s = 0;
    double polls = 0, polls_s = 0;  ///< of these, calls that have found nothing (waits::LongBy::polling)
    double floor_s() const { return time_s - estimate.seconds; }  ///< without waiting
  };
  /// Ascending by path: those of functions of which it is known how processes wait in them. Belongs to one thread.
  std::vector<OfPath> paths() const;
  /// The same of one rank, of those that were added.
  std::vector<OfPath> of_rank(const experiment::Rank& rank) const;

 private:
  using Kind = std::pair<std::uint64_t, waits::CallClass>;  ///< function, by its number, and class
  using Key = std::pair<std::uint32_t, Kind>;               ///< path
  struct Group {
    const waits::WaitKind* is = nullptr;  ///< null: nobody waits in them
    waits::Calls calls;
    waits::Estimate by_process;  ///< of kinds that are compared with the process
  };
  using Groups = std::map<Key, Group>;
  using Floors = std::map<Kind, waits::FloorBuilder>;

  std::span<const waits::WaitKind> kinds_of(std::uint32_t path) const;
  template <class Use>
  void for_each_known(const experiment::Rank& rank, const Use& use) const;
  Groups groups_of(const experiment::Rank& rank) const;
  std::vector<OfPath> paths_of(const Groups& groups, double off_processor) const;
  static waits::Estimate estimate_of(const Group& group, const Kind& kind, const waits::Floor& own,
                                     const waits::Floor& of_all, bool are_all_there, double off_processor);
  bool are_all_there() const { return ranks_ >= definitions_.ranks_expected; }
  const waits::Floor& floor_of_all(const Kind& kind) const;

  const experiment::ProfileDefinitions& definitions_;
  std::vector<std::span<const waits::WaitKind>> kinds_of_region_;
  Floors of_all_;
  mutable std::map<Kind, waits::Floor> floors_;  ///< of these, those that were asked for
  Groups groups_;
  std::int32_t ranks_ = 0;  ///< that were added
  /// Of the time in MPI, the part for which a process had no processor: the largest one of a rank, and all together.
  double most_off_processor_ = 0, mpi_s_ = 0, off_processor_s_ = 0;
};

}  // namespace refrain::analysis
