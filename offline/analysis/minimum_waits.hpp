#pragma once
/// Waiting of the whole run, estimated from the durations of calls (waits/estimate.hpp): known of every run, even
/// without events.

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

/// Ranks are added one after the other and none is held. A collective operation is compared with the shortest one of
/// any rank, which is known when all ranks have been added.
class MinimumWaits {
 public:
  /// `definitions` must outlive it.
  explicit MinimumWaits(const experiment::ProfileDefinitions& definitions);
  void add(const experiment::Rank& rank);
  /// Whether any rank has durations of calls with a known kind of waiting.
  bool any() const { return !groups_.empty(); }

  struct OfPath {
    std::uint32_t path = 0;  ///< of the definitions
    waits::Estimate estimate;
    std::map<std::string_view, double> kinds_s;  ///< parts of the estimate; empty: these calls do not wait
    /// All calls whose durations are known, with those that do not wait.
    double calls = 0, time_s = 0;
    double polls = 0, polls_s = 0;  ///< the part of these calls that found nothing (waits::LongBy::polling)
    double floor_s() const { return time_s - estimate.seconds; }  ///< time without waiting
  };
  /// Ascending by path: the calls of functions with a known kind of waiting. For one thread at a time.
  std::vector<OfPath> paths() const;
  /// As paths(), of one of the ranks that were added.
  std::vector<OfPath> of_rank(const experiment::Rank& rank) const;

 private:
  using Kind = std::pair<std::uint64_t, waits::CallBin>;  ///< number of the function, and bin of the call
  using Key = std::pair<std::uint32_t, Kind>;             ///< path, and kind of call
  struct Group {
    const waits::WaitKind* is = nullptr;  ///< null: these calls do not wait
    waits::Calls calls;
    waits::Estimate by_process;  ///< for kinds of waiting that take the shortest call of the process
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
  mutable std::map<Kind, waits::Floor> floors_;  ///< floors of of_all_ that were asked for
  Groups groups_;
  std::int32_t ranks_ = 0;  ///< number of ranks that were added
  /// The largest part of a rank's time in MPI without a processor; time in MPI of all ranks, and that without a
  /// processor.
  double most_off_processor_ = 0, mpi_s_ = 0, off_processor_s_ = 0;
};

}  // namespace refrain::analysis
