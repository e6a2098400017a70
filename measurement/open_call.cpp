#include "measurement/open_call.hpp"

#include <limits>

#include "measurement/event_log.hpp"
#include "unwind/stack_memory.hpp"

namespace refrain::measurement {

using platform::Ticks;

std::int64_t* row_of(Location& l, const OpenCall& call) {
  return call.node == unrecorded_call ? l.while_stopped.row : l.tree.values(call.node);
}

namespace {

void charge(Location& l, Ticks until) {
  const Ticks time = uncharged_time(l.call, until);
  l.call.taken_out = 0;
  if (time == 0) return;
  l.unit.mpi += time;
  row_of(l, l.call)[column_of(MetricId::Time)] += time;
}

/// `charged_until` of a call while the measurement is stopped: the call has no uncharged time.
constexpr Ticks never = std::numeric_limits<Ticks>::max();

/// Counts the call in progress, which has ended, if it began while the measurement was not stopped.
void count_ended_call(Location& l) {
  if (l.call.node == unrecorded_call) return;
  // While the measurement is stopped, Location::unit is dropped.
  ++(l.stopped ? l.while_stopped.unit : l.unit).mpi_calls;
}

}  // namespace

void cut_open_call(Location& l, Ticks until, Ticks goes_on) {
  charge(l, until);
  if (l.call.charged_until < goes_on) l.call.charged_until = goes_on;
  l.call.values = nullptr;
}

void stop_open_call(Location& l, Ticks now) { cut_open_call(l, now, never); }

void resume_open_call(Location& l, Ticks now) {
  l.resumed_at = now;
  l.call.charged_until = now;
  l.call.taken_out = 0;
  l.call.values = nullptr;  // a call that began during the stop is not counted (row_after_cut)
}

std::int64_t* row_after_cut(Location& l) {
  if (l.stopped != (l.call.node == unrecorded_call)) {
    count_ended_call(l);
    --l.unit.mpi_calls;
  }
  return row_of(l, l.call);
}

void end_open_call(Location& l, Ticks until) {
  charge(l, until);
  ++row_of(l, l.call)[column_of(MetricId::Visits)];
  note_call(l, until, false);
  l.call.announcement = Announcement::None;
  count_ended_call(l);
}

void end_abandoned_call(Location& l, Ticks seen) {
  // It is not known when the call was left. The time since the last tick in the call is counted as the program's own:
  // the code that jumped was running, so a tick was due soon after.
  const Ticks charged = l.call.charged_until == never ? l.call.begin : l.call.charged_until;
  const Ticks until = seen > charged ? seen : charged;
  count_off_cpu_of_call(l, until);
  end_open_call(l, until);
  l.count_loss(Loss::CallAbandoned);
  messages_go_uncounted.store(true, std::memory_order_relaxed);
}

bool scope_is_gone(const Location& l, std::uintptr_t sp) {
  if (sp == l.call.sp) return true;
  const platform::StackBounds stack = l.walker.stack();
  // An alternate stack may be an array in a frame further out.
  if (sp > l.call.sp && stack.contains(sp) && stack.contains(l.call.sp) && !platform::is_on_alternate_stack())
    return true;
  unwind::StackMemory memory(stack, sp);
  std::uintptr_t returns_to;
  const auto slot = l.call.sp + static_cast<std::uintptr_t>(unwind::machine::return_address_offset);
  return !memory.load(slot, returns_to) || returns_to != l.call.pc;
}

bool is_on_own_stack(const Location& l, std::uintptr_t address) {
  // Only the upper bound of the main thread's stack is known. The kernel maps nothing else this close below it, so no
  // stack of a fiber is there.
  constexpr std::uintptr_t surely_stack = std::uintptr_t{128} << 20;
  const platform::StackBounds stack = l.walker.stack();
  return stack.contains(address) && stack.high - address < surely_stack;
}

bool caller_is_on_stack(Location& l, const unwind::Start& from) {
  if (!is_on_own_stack(l, from.registers.sp) || !is_on_own_stack(l, l.call.sp) || platform::is_on_alternate_stack())
    return true;
  const std::int64_t& refused = l.losses[static_cast<std::size_t>(Loss::CallInHandler)];
  const std::int64_t refused_before = refused;
  const unwind::Walk walk = l.walker.walk_fully(from);
  if (walk.end != unwind::WalkEnd::Complete) return true;
  for (std::uint32_t i = 0; i < walk.depth; ++i)
    if (walk.frames[i].sp == l.call.sp && walk.frames[i].pc == l.call.pc) return true;
  return refused !=
         refused_before;  // a signal handler on top of this walk has called, and its walk has replaced this one
}

}  // namespace refrain::measurement
