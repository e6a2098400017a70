#pragma once
/// Who else than the profile wants to know what happens: events, wait states, tests.
///
/// A consumer says of what it wants records when it is added, and may change that for each location at any time on the
/// location's thread (`Location::wanted`). One that wants nothing of a location costs its calls nothing: all wishes are
/// one word, beside what a call looks at anyway.
///
/// Every function is called inside a scope, on the location's thread, in its ticks, or by who has paused it. It must be
/// async-signal-safe and write nothing but what belongs to the location. Order, on one location: the communications of
/// a call come before the call; a nested call before the call around it. Null: of no interest.
///
/// What a consumer has to define for itself:
///   a unit ends       `cut`; a call in progress goes on, and is handed over whole at its end. The metrics of
///                     REFRAIN_METRICS have been read: there is no `reading` of it
///   a thread ends     `thread_ended`; the next thread goes on with the location
///   MPI_Pcontrol      nothing is handed over of calls that begin while the measurement is stopped, nor samples
///   a call in progress when its thread or the measurement ends, or that was left by a jump: a record with `is_whole`
///                     false
///   fork              `forked`, in the child, where nothing is measured before it begins anew
/// The gate (entrance.hpp) keeps everything out while another thread reads.

#include <atomic>
#include <initializer_list>

#include "measurement/location.hpp"
#include "measurement/records.hpp"

namespace refrain::measurement {

struct Consumer {
  void (*call)(Location& location, const CallRecord& call) = nullptr;
  void (*communication)(Location& location, const Communication& communication) = nullptr;
  void (*sample)(Location& location, const SampleRecord& sample) = nullptr;
  void (*mark)(Location& location, const MarkRecord& mark) = nullptr;
  void (*cut)(Location& location, const CutRecord& cut) = nullptr;
  void (*thread_ended)(Location& location) = nullptr;
  void (*forked)() = nullptr;
  bool numbers = false;  ///< messages are to be numbered (Communication::number)
  void (*reading)(Location& location, const ReadingRecord& reading) = nullptr;
  /// The thread has left Refrain's bookkeeping by a jump: any of these functions may have been left at any instruction.
  void (*abandoned)(Location& location) = nullptr;
};

/// A consumer wants that. Constant after the first location was made.
extern bool messages_are_numbered;
/// The program has made calls of which nobody knows what they have sent or received.
extern std::atomic<bool> messages_go_uncounted;

/// What a consumer may want of a location.
enum class Wish : std::uint8_t { Calls, Samples, Marks, Cuts };
inline constexpr unsigned most_consumers = 4;
using Wishes = std::uint16_t;  ///< a bit for each consumer and wish
constexpr Wishes wish_of(unsigned consumer, Wish wish) {
  return static_cast<Wishes>(1u << (most_consumers * static_cast<unsigned>(wish) + consumer));
}
/// The bits of all consumers for this wish.
constexpr Wishes any_wish(Wish wish) {
  return static_cast<Wishes>(((1u << most_consumers) - 1) << (most_consumers * static_cast<unsigned>(wish)));
}
inline bool is_wanted(const Location& location, Wish wish) { return (location.wanted & any_wish(wish)) != 0; }

/// Returns the number of the consumer. To be called before the first location is made. `wishes`: for every location at
/// its start.
unsigned add_consumer(const Consumer& consumer, std::initializer_list<Wish> wishes);
/// What the consumers want of a location when it is made.
Wishes first_wishes();

// Async-signal-safe. To be called where something is wanted.
void hand_over(Location& location, const CallRecord& call);
void hand_over(Location& location, const Communication& communication);
void hand_over(Location& location, const SampleRecord& sample);
void hand_over(Location& location, const MarkRecord& mark);
void hand_over(Location& location, const CutRecord& cut);
/// To all that have the function.
void hand_over(Location& location, const ReadingRecord& reading);
void hand_over_end_of_thread(Location& location);
void hand_over_abandonment(Location& location);
void hand_over_fork();

/// Hands over the innermost call in progress, which ends at `end`.
void hand_over_call(Location& location, platform::Ticks end, bool is_whole);

}  // namespace refrain::measurement
