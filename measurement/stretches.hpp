#pragma once
/// Stretches stand for iterations in a program without marks. A stretch ends with each blocking collective operation of
/// the first thread on a communicator of all processes, so all ranks have the same stretches in the same order, without
/// communication. A hash of all operations so far proves it.
///
/// Stretches between the same two call paths form a group. The number and time of a group are exact, whichever of its
/// stretches are kept.
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
    /// Nodes of the operations before and at the end. events::no_node as `opened`: the first stretch; as both: all
    /// stretches whose group found no slot.
    std::uint32_t opened, closed;
    std::uint64_t count;  ///< number of stretches; 0: the slot is free
    std::uint64_t time;   ///< sum of their durations, ticks
  };
  static constexpr std::size_t max_groups = 256;

  /// Stretches are recorded from here on.
  void begin() { are_on_ = true; }
  /// The program has marked a loop: stretches are recorded no more.
  void end() { are_on_ = false; }

  /// The call in progress is a blocking collective operation on the communicator of this identity.
  void note_collective(std::uint64_t communicator) {
    if (are_on_) communicator_ = communicator;
  }
  /// Whether the call in progress is such an operation.
  bool has_collective() const { return communicator_ != 0; }
  void forget_collective() { communicator_ = 0; }
  /// The operation `call` has ended the stretch that began at `begin`. Returns the record of the stretch.
  events::Record close(const events::CallRecord& call, platform::Ticks begin);

  std::uint64_t count() const { return count_; }
  std::uint64_t hash() const { return hash_; }
  /// Twice as many slots as groups, and behind them one for the stretches whose group found no slot.
  const std::array<Group, 2 * max_groups + 1>& groups() const { return groups_; }

 private:
  Group& group_of(std::uint32_t opened, std::uint32_t closed);

  std::uint64_t communicator_ = 0;  ///< first member, see EventLog
  bool are_on_ = false;
  std::uint64_t count_ = 0, hash_ = 0;
  std::uint32_t opened_ = events::no_node;
  std::size_t groups_used_ = 0;
  std::array<Group, 2 * max_groups + 1> groups_{};
};

}  // namespace refrain::measurement
