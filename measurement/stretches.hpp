#pragma once
/// Stretches: what stands for iterations in a program that marks none. One ends with each blocking collective operation
/// of the first thread on a communicator with all processes; all ranks have the same ones, in the same order, without
/// talking to each other. A hash of all operations so far proves it.
///
/// Stretches between the same two call paths are a class: their number and time are exact, whichever are kept.
///
/// Belongs to one thread at a time; nothing is allocated. Async-signal-safe.

#include <array>
#include <cstdint>

#include "events/record.hpp"
#include "platform/clock.hpp"

namespace refrain::measurement {

class Stretches {
 public:
  struct Class {
    /// Call paths: nodes. events::no_node: of the first stretch none has opened it; both: of those without a place.
    std::uint32_t opened, closed;
    std::uint64_t count;  ///< 0: there is no such class
    std::uint64_t time;   ///< ticks, all of them together
  };
  static constexpr std::size_t most_classes = 256;

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
  /// Twice as many places as classes; the last one, behind them, has those that found no place.
  const std::array<Class, 2 * most_classes + 1>& classes() const { return classes_; }

 private:
  Class& class_of(std::uint32_t opened, std::uint32_t closed);

  std::uint64_t communicator_ = 0;  ///< first: EventLog
  bool are_on_ = false;
  std::uint64_t count_ = 0, hash_ = 0;
  std::uint32_t opened_ = events::no_node;
  std::size_t classes_used_ = 0;
  std::array<Class, 2 * most_classes + 1> classes_{};
};

}  // namespace refrain::measurement
