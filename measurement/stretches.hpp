#pragma once
/// Stretches: what stands for iterations in a program that marks none. One ends with each blocking collective operation
/// of the first thread on a communicator with all processes; all ranks have the same ones, in the same order, without
/// talking to each other. A hash of all operations so far proves it.
///
/// Stretches between the same two call paths are a group: their number and time are exact, whichever are kept.
///
/// Belongs to one thread at a time; nothing is allocated. Async-signal-safe.

#include <array>
#include <cstdint>

#include "events/record.hpp"
#include "platform/clock.hpp"

namespace refrain::measurement {

class Stretches {
 public:
  struct Group {
    /// Call paths: nodes. events::no_node: of the first stretch none has opened it; both: of those without a slot.
    std::uint32_t opened, closed;
    std::uint64_t count;  ///< 0: there is no such group
    std::uint64_t time;   ///< ticks, all of them together
  };
  static constexpr std::size_t max_groups = 256;

  /// From here on there are stretches.
  void begin() { are_on_ = true; }
  /// The program has marked a loop: there are none any more.
  void end() { are_on_ = false; }

  /// The call in progress is a blocking collective operation on the communicator of this identity.
  void note_collective(std::uint64_t communicator) {
    if (are_on_) communicator_ = communicator;
  }
  /// The call that has ended was one.
  bool has_collective() const { return communicator_ != 0; }
  void forget_collective() { communicator_ = 0; }
  /// It has ended the stretch that began at `begin`: the record of the stretch.
  events::Record close(const events::CallRecord& call, platform::Ticks begin);

  std::uint64_t count() const { return count_; }
  std::uint64_t hash() const { return hash_; }
  /// Twice as many slots as groups, and behind them one for the stretches whose group found no slot.
  const std::array<Group, 2 * max_groups + 1>& groups() const { return groups_; }

 private:
  Group& group_of(std::uint32_t opened, std::uint32_t closed);

  std::uint64_t communicator_ = 0;  ///< first: EventLog
  bool are_on_ = false;
  std::uint64_t count_ = 0, hash_ = 0;
  std::uint32_t opened_ = events::no_node;
  std::size_t groups_used_ = 0;
  std::array<Group, 2 * max_groups + 1> groups_{};
};

}  // namespace refrain::measurement
