#pragma once
/// The entrance to a location: the one way by which a thread, or a tick that has interrupted it, comes to write there,
/// and by which it goes again. Wrappers, marks, ticks and thread hooks use it; nothing else sets `Location::inside`.
///
///   enter   from the program, or back from a call: waits while another thread reads the location
///   leave   to where the thread goes on
///   Hold    for a tick: the same without waiting
///
/// Who has entered finds the unit in progress up to date: where the location follows the first thread's iterations,
/// keep_up() has cut it at the boundaries since the last entry.
///
/// Two others look at `inside`:
///
/// A tick on the same thread. It sees what the thread has done in the order of the program: only the compiler has to be
/// held back, by signal fences.
///
/// Another thread that pauses this one (locations.hpp). It closes the gate, makes every thread pass a barrier, and
/// waits until `inside` is something else than Measurement. So a thread that has entered and then finds the gate open
/// may write until it leaves. The pausing thread sees what was written, because leaving is a release and looking at
/// `inside` an acquire: also on processors that reorder stores. The paused thread sees what the pausing one has
/// written, because opening the gate is a release, and passing it an acquire.

#include <atomic>

#include "measurement/location.hpp"

namespace refrain::measurement {

/// From here on the thread is in Refrain's bookkeeping. Not yet inside: the gate comes next.
[[gnu::always_inline]] inline void step_in(Location& l) {
  l.inside.store(Inside::Measurement, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// For a thread that has stepped in and found the gate not open: waits, as if it were at `from` still, while the gate
/// is paused or held. False: it is shut; the location is Closed. Ordinary context.
bool wait_at_gate(Location& l, Inside from);

/// The thread goes on at `to`. Async-signal-safe.
[[gnu::always_inline]] inline void leave(Location& l, Inside to) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  l.inside.store(to, std::memory_order_release);
}

/// enter() without keep_up(): the location is as it was left.
[[gnu::always_inline]] inline bool pass_gate(Location& l, Inside from) {
  step_in(l);
  return l.gate.load(std::memory_order_acquire) == Gate::Open || wait_at_gate(l, from);
}

/// The thread, which was at `from`, begins Refrain's bookkeeping. False: the measurement of the location is ending.
/// Ordinary context.
[[gnu::always_inline]] inline bool enter(Location& l, Inside from) {
  if (!pass_gate(l, from)) [[unlikely]]
    return false;
  if (l.following) [[unlikely]]
    keep_up(l, from);
  return true;
}

/// The program calls, with the registers `caller`. What it has abandoned (open_call.hpp) is ended first. False: nothing
/// is measured here, because the thread is in Refrain or in a call already, or its measurement is ending.
/// Ordinary context.
[[gnu::always_inline]] inline bool enter(Location& l, const platform::Registers& caller) {
  if (l.inside.load(std::memory_order_relaxed) != Inside::User) [[unlikely]]
    if (!leave_abandoned_scope(l, caller)) return false;
  step_in(l);
  l.call.sp = caller.sp;
  l.call.pc = caller.pc;
  return enter(l, Inside::User);
}

/// Refrain's bookkeeping in a tick that has found the thread at `from`, User or Call. False: another thread reads the
/// location, or soon will, and nothing of it may be written. Async-signal-safe.
class Hold {
 public:
  enum AsItIs { as_it_is };
  /// Without bringing the unit up to date.
  [[gnu::always_inline]] Hold(Location& l, Inside from, AsItIs) : location_(l), goes_on_at_(from) {
    step_in(l);
    is_open_ = l.gate.load(std::memory_order_acquire) == Gate::Open;
  }
  [[gnu::always_inline]] Hold(Location& l, Inside from) : Hold(l, from, as_it_is) {
    if (is_open_ && l.following) keep_up(l, from);
  }
  [[gnu::always_inline]] ~Hold() { leave(location_, goes_on_at_); }
  Hold(const Hold&) = delete;
  explicit operator bool() const { return is_open_; }
  void goes_on_at(Inside to) { goes_on_at_ = to; }

 private:
  Location& location_;
  Inside goes_on_at_;
  bool is_open_;
};

}  // namespace refrain::measurement
