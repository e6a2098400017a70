#pragma once
/// Combines the clocks of a job's machines into one. Ranks on one machine share its clock. Machines are connected by
/// what ranks measured in MPI_Init and MPI_Finalize (record/clock_offsets.hpp), with a straight line in between; where
/// nothing was measured, calendar clocks are used. What events prove (clock_correction.hpp) bends the line.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "offline/experiment/profile.hpp"
#include "offline/trace/clock_correction.hpp"

namespace refrain::trace {

class JobClocks {
 public:
  /// Adds a rank with events.
  void add(const experiment::Rank& rank);
  /// Call after all ranks were added.
  void connect();

  /// One clock for each machine, with what was measured, for times since begin() as returned by even_time_of().
  ClockCorrection correction(std::int64_t end_ns) const;
  /// Takes the correction from all events, solved. Changes begin().
  void correct(const ClockCorrection& correction);

  /// The number of a rank's machine; 0: the first rank's.
  std::uint32_t machine_of(std::int32_t rank) const;
  /// What to add to even_time_of(), by the time since begin(); null: nothing.
  std::shared_ptr<const ClockCurve> curve_of(std::int32_t rank) const;
  /// Number of pairs of events that bound the clocks.
  std::uint64_t bounds() const { return bounds_; }
  /// Like time_of(), with clocks that run evenly between the two measurements.
  std::int64_t even_time_of(const experiment::Rank& rank, std::int64_t monotonic_ns) const;
  /// Converts a time on the rank's monotonic clock to nanoseconds since the epoch, by the clock of the first rank's
  /// machine.
  std::int64_t time_of(const experiment::Rank& rank, std::int64_t monotonic_ns) const;
  /// When the earliest rank began.
  std::int64_t begin() const { return begin_; }
  std::size_t machines() const { return clocks_.size(); }
  /// What to add to the rank's monotonic clock, at this time, to get that of the first rank's machine; nothing: not
  /// known.
  std::optional<std::int64_t> offset_of(std::int32_t rank, std::int64_t monotonic_ns) const;
  /// Maximum error of times of other machines, relative to those of the first rank's. Where no events bound a clock,
  /// this assumes that it runs evenly between the two measurements. -1: not known, as only calendar clocks were
  /// available.
  std::int64_t uncertainty_ns() const { return uncertainty_; }

 private:
  /// What to add to a time to get that of another clock.
  struct Sample {
    std::int64_t at, offset, round_trip;
  };
  struct Clock {
    std::int64_t to_epoch;
    std::uint64_t parent = 0;  ///< the next clock on the way to the first; 0: none
    std::int64_t at = 0, offset = 0;
    double slope = 0;
    std::uint32_t machine = 0;
    std::vector<Sample> measured;  ///< the best early sample and the best late one
    std::shared_ptr<const ClockCurve> curve;
  };
  void follow(std::uint64_t clock, std::uint64_t parent, std::vector<Sample> samples);
  double since_begin(std::int64_t time) const { return static_cast<double>(time) - static_cast<double>(begin_); }
  std::int64_t to_first(std::uint64_t clock, std::int64_t time) const;
  /// to_first(), with the correction added.
  std::int64_t corrected(std::uint64_t clock, std::int64_t time) const;

  struct Begin {
    std::uint64_t clock;
    std::int64_t monotonic_ns;
  };
  struct Seen {
    std::uint64_t clock;
    std::int32_t rank;  ///< the rank whose clock was seen
    Sample sample;
  };
  std::map<std::uint64_t, Clock> clocks_;
  std::map<std::int32_t, std::uint64_t> clock_of_rank_;
  std::vector<Seen> seen_;
  std::vector<Begin> begins_;
  std::uint64_t first_ = 0;
  std::map<std::uint64_t, std::int64_t> uncertainties_;
  std::int64_t begin_ = 0, uncertainty_ = 0;
  std::uint64_t bounds_ = 0;
};

}  // namespace refrain::trace
