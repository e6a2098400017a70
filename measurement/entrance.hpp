#pragma once
/// The entrance to a location: the only way by which a thread, or a tick that has interrupted it, may write to the
/// location. Wrappers, marks, ticks and thread hooks use it; nothing else sets `Location::inside`.
///
///   enter   from the program, or on return from a call: waits while another thread reads the location
///   leave   to the program or the call
///   Hold    both for a tick: never waits, and may be left by a jump (abandoned_scope.hpp)
///
/// On entry the unit in progress is brought up to date: keep_up() cuts the unit of a follower at the boundaries since
/// the last entry.
///
/// Two others read `inside`:
///
/// A tick on the same thread. It sees the thread's stores in program order; signal fences keep the compiler from
/// reordering them.
///
/// Another thread that pauses this one (locations.hpp). It closes the gate, makes every thread pass a barrier, and
/// waits until `inside` is neither Measurement nor Tick. So a thread that has entered and then finds the gate open
/// may write until it leaves. The pausing thread sees these writes on any processor, because leaving is a release and
/// reading `inside` an acquire. The paused thread sees the writes of the pausing one, because opening the gate is a
/// release and passing it an acquire.

#include <atomic>

#include "measurement/abandoned_scope.hpp"
#include "measurement/location.hpp"

namespace refrain::measurement {

/// From here on the thread is in Refrain's bookkeeping. It may not write yet: it has to pass the gate first.
[[gnu::always_inline]] inline void step_in(Location& l) {
  l.inside.store(Inside::Measurement, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// For a thread that has stepped in and found the gate not open: waits while the gate is paused, with `inside` at
/// `from`. False: the gate is shut, and the location is Closed; or the gate stayed paused for very long, which is
/// counted as a loss, and the thread is at `from`. Ordinary context.
bool wait_at_gate(Location& l, Inside from);

/// Gates were opened or shut: wakes the threads that wait at one. Async-signal-safe.
void wake_at_gates();

/// The thread leaves the bookkeeping and continues in `to`. Async-signal-safe.
[[gnu::always_inline]] inline void leave(Location& l, Inside to) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  l.inside.store(to, std::memory_order_release);
}

/// enter() without keep_up().
[[gnu::always_inline]] inline bool pass_gate(Location& l, Inside from) {
  step_in(l);
  return l.gate.load(std::memory_order_acquire) == Gate::Open || wait_at_gate(l, from);
}

/// The thread enters Refrain's bookkeeping from `from`. False: the measurement of the location is ending. Ordinary
/// context.
[[gnu::always_inline]] inline bool enter(Location& l, Inside from) {
  if (!pass_gate(l, from)) [[unlikely]]
    return false;
  if (l.follower) [[unlikely]]
    keep_up(l, from);
  return true;
}

/// The program calls into Refrain, with the registers `caller`. A scope that it has abandoned (open_call.hpp) is ended
/// first. False: nothing is measured, because the thread already is in Refrain or in a call, or its measurement is
/// ending. Ordinary context.
[[gnu::always_inline]] inline bool enter(Location& l, const platform::Registers& caller) {
  if (l.inside.load(std::memory_order_relaxed) != Inside::User) [[unlikely]]
    if (!leave_abandoned_scope(l, caller)) return false;
  l.call.sp = caller.sp;
  l.call.pc = caller.pc;
  step_in(l);
  return enter(l, Inside::User);
}

/// Refrain's bookkeeping in a tick that has found the thread at `from`, User or Call. False: another thread reads the
/// location or is about to, so the tick must not write to it. `context`: the argument of the tick's handler; null: this
/// is no tick. Async-signal-safe.
class Hold {
 public:
  enum AsItIs { as_it_is };
  /// Without keep_up().
  [[gnu::always_inline]] Hold(Location& l, Inside from, const void* context, AsItIs)
      : location_(l), number_(l.tick.number + 1), goes_on_at_(from) {
    // The kernel's frame is a return address and the context: the stack pointer is there when the handler returns.
    l.tick = {&number_, number_, reinterpret_cast<std::uintptr_t>(context), from};
    std::atomic_signal_fence(std::memory_order_seq_cst);
    l.inside.store(Inside::Tick, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    is_open_ = l.gate.load(std::memory_order_acquire) == Gate::Open;
  }
  [[gnu::always_inline]] Hold(Location& l, Inside from, const void* context) : Hold(l, from, context, as_it_is) {
    if (is_open_ && l.follower) keep_up(l, from);
  }
  [[gnu::always_inline]] ~Hold() {
    if (location_.tick.number == number_) [[likely]]
      leave(location_, goes_on_at_);
    else location_.walker.forget();  // a fiber's tick that was taken for abandoned, and continued
  }
  Hold(const Hold&) = delete;
  explicit operator bool() const { return is_open_; }
  void goes_on_at(Inside to) { location_.tick.found = goes_on_at_ = to; }

 private:
  Location& location_;
  std::uint64_t number_;
  Inside goes_on_at_;
  bool is_open_;
};

}  // namespace refrain::measurement
