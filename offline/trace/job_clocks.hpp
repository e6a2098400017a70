#pragma once
/// The clocks of a job's machines as one. Ranks of one machine share its clock. Between machines stands what ranks have
/// measured in MPI_Init and in MPI_Finalize (runtime/clock_offsets.hpp), and in between a straight line; where nothing
/// was measured the clocks of their calendars must do.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "offline/experiment/profile.hpp"

namespace refrain::trace {

class JobClocks {
 public:
  /// A rank with events.
  void add(const experiment::Rank& rank);
  /// After all of them were added.
  void connect();

  /// Nanoseconds since the epoch, of a time on the rank's monotonic clock, by the clock of the first rank's machine.
  std::int64_t time_of(const experiment::Rank& rank, std::int64_t monotonic_ns) const;
  /// Of the rank that began first.
  std::int64_t begin() const { return begin_; }
  std::size_t machines() const { return clocks_.size(); }
  /// What to add to the rank's monotonic clock, at this time, for that of the first rank's machine; nothing: not known.
  std::optional<std::int64_t> offset_of(std::int32_t rank, std::int64_t monotonic_ns) const;
  /// How wrong times of other machines may be, to those of the first rank's, when all clocks run evenly between the two
  /// measurements; -1: not known, as only the calendars were there.
  std::int64_t uncertainty_ns() const { return uncertainty_; }

 private:
  /// What to add to a time for that of another clock.
  struct Sample {
    std::int64_t at, offset, round_trip;
  };
  struct Clock {
    std::int64_t to_epoch;
    std::uint64_t parent = 0;  ///< the next clock on the way to the first; 0: none
    std::int64_t at = 0, offset = 0;
    double slope = 0;
  };
  void follow(std::uint64_t clock, std::uint64_t parent, std::vector<Sample> samples);
  std::int64_t to_first(std::uint64_t clock, std::int64_t time) const;

  struct Begin {
    std::uint64_t clock;
    std::int64_t monotonic_ns;
  };
  struct Seen {
    std::uint64_t clock;
    std::int32_t rank;  ///< whose clock was seen
    Sample sample;
  };
  std::map<std::uint64_t, Clock> clocks_;
  std::map<std::int32_t, std::uint64_t> clock_of_rank_;
  std::vector<Seen> seen_;
  std::vector<Begin> begins_;
  std::uint64_t first_ = 0;
  std::map<std::uint64_t, std::int64_t> uncertainties_;
  std::int64_t begin_ = 0, uncertainty_ = 0;
};

}  // namespace refrain::trace
