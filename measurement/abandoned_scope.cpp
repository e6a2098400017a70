#include "measurement/abandoned_scope.hpp"

#include <algorithm>

#include "measurement/entrance.hpp"
#include "measurement/event_log.hpp"
#include "unwind/stack_memory.hpp"

namespace refrain::measurement {

namespace {

/// Whether both addresses lie on the thread's own stack, and `sp` is at `scope` or further out.
bool is_at_or_beyond(const Location& l, std::uintptr_t sp, std::uintptr_t scope) {
  const platform::StackBounds stack = l.walker.stack();
  return sp >= scope && stack.contains(sp) && stack.contains(scope) && !platform::is_on_alternate_stack();
}

/// Whether a walk over the whole stack shows that `frame` is not on it. False also where that cannot be known.
bool is_proven_off_stack(Location& l, const unwind::Start& from, std::uintptr_t frame) {
  const unwind::Walk walk = l.walker.walk_fully(from);
  if (walk.end != unwind::WalkEnd::Complete) return false;
  return std::none_of(walk.frames, walk.frames + walk.depth, [&](const unwind::Frame& of) { return of.sp == frame; });
}

/// Whether the program has left the tick in progress, so that the code at `from` is no signal handler on top of it.
bool tick_is_gone(Location& l, const unwind::Start& from) {
  const TickInProgress& tick = l.tick;
  const auto mark = reinterpret_cast<std::uintptr_t>(tick.mark);
  if (is_at_or_beyond(l, from.registers.sp, mark)) return true;
  unwind::StackMemory memory(l.walker.stack(), from.registers.sp);
  std::uintptr_t number;
  if (!memory.load(mark, number) || number != tick.number) return true;
  return tick.frame != 0 && is_proven_off_stack(l, from, tick.frame);
}

/// Makes all data consistent after bookkeeping was left in the middle of a change. Inside a scope.
void mend(Location& l) {
  l.walker.forget();
  l.tree.mend();
  mend_events(l);
}

/// Ends a tick that the program has left. No other thread has read the location since, so the gate does not matter.
Inside end_abandoned_tick(Location& l, const void* context) {
  const Inside found = l.tick.found;
  const Hold hold(l, found, context, Hold::as_it_is);
  mend(l);
  l.count_loss(Loss::TickAbandoned);
  return found;
}

/// Ends the bookkeeping of an entry that the program has left.
void end_abandoned_entry(Location& l, const void* context) {
  const Hold hold(l, Inside::User, context, Hold::as_it_is);
  mend(l);
}

/// Whether this tick is to walk over the whole stack: the 1st, 2nd, 4th and 8th tick that finds the same call, then
/// every 16th.
bool is_to_be_verified(Location& l) {
  if (l.ticked_call != l.call.begin) {
    l.ticked_call = l.call_verified = l.call.begin;
    l.ticks_in_call = 0;
  }
  const std::uint32_t n = ++l.ticks_in_call;
  return n % 16 == 0 || (n & (n - 1)) == 0;
}

/// A tick has found the bookkeeping of an entry, whose frames lie below that of the program's call. During its first
/// instructions an entry still has the stack pointer of an older one, so one tick proves nothing.
Inside check_entry(Location& l, const unwind::Start& interrupted) {
  constexpr std::uint32_t enough = 3;
  if (!is_at_or_beyond(l, interrupted.registers.sp, l.call.sp)) {
    l.ticks_beyond_scope = 0;
    return Inside::Measurement;
  }
  if (++l.ticks_beyond_scope < enough) return Inside::Measurement;
  l.ticks_beyond_scope = 0;
  end_abandoned_entry(l, interrupted.context);
  return Inside::User;
}

Inside check_call(Location& l, const unwind::Start& interrupted) {
  const bool is_gone = scope_is_gone(l, interrupted.registers.sp), verified = is_to_be_verified(l);
  if (is_gone || verified) {
    Hold hold(l, Inside::Call, interrupted.context, Hold::as_it_is);
    if (!hold) return Inside::Call;
    if (is_gone || !caller_is_on_stack(l, interrupted)) {
      end_abandoned_call(l, l.call_verified);
      hold.goes_on_at(Inside::User);
      return Inside::User;
    }
  }
  l.call_seen = platform::now();
  if (verified) l.call_verified = l.call_seen;
  return Inside::Call;
}

}  // namespace

bool leave_abandoned_scope(Location& l, const platform::Registers& caller) {
  const unwind::Start from{caller, false, nullptr};
  Inside inside = l.inside.load(std::memory_order_relaxed);
  if (inside == Inside::Closed) return false;
  if (inside == Inside::Tick) {
    if (!tick_is_gone(l, from)) {  // a signal handler on top of the tick
      messages_go_uncounted.store(true, std::memory_order_relaxed);
      l.count_loss(Loss::CallInHandler);
      return false;
    }
    inside = end_abandoned_tick(l, nullptr);
  }
  // From here on a tick may come at any instruction and end the abandoned scope itself.
  if (inside == Inside::User) return true;
  const bool is_gone = scope_is_gone(l, caller.sp);
  if (inside == Inside::Measurement) {
    if (is_gone) end_abandoned_entry(l, nullptr);
    return is_gone;
  }
  const Inside now = l.inside.exchange(Inside::Measurement, std::memory_order_relaxed);
  if (now != inside) {
    leave(l, now);
    return now == Inside::User || leave_abandoned_scope(l, caller);
  }
  if (!pass_gate(l, inside)) return false;
  if (!is_gone && caller_is_on_stack(l, from)) {
    leave(l, inside);
    return false;
  }
  end_abandoned_call(l, l.call_verified);
  l.walker.forget();
  leave(l, Inside::User);
  return true;
}

Inside inside_at_tick(Location& l, const unwind::Start& interrupted) {
  Inside inside = l.inside.load(std::memory_order_relaxed);
  if (inside == Inside::Measurement) inside = check_entry(l, interrupted);
  else if (inside == Inside::Tick && tick_is_gone(l, interrupted)) inside = end_abandoned_tick(l, interrupted.context);
  return inside == Inside::Call ? check_call(l, interrupted) : inside;
}

Inside end_unfinished_bookkeeping(Location& l) {
  const Inside inside = l.inside.load(std::memory_order_relaxed);
  return inside == Inside::Tick ? end_abandoned_tick(l, nullptr) : inside;
}

}  // namespace refrain::measurement
