#include "offline/trace/event.hpp"

#include <iterator>

namespace refrain::trace {

const char* name_of(Type type) {
  constexpr const char* names[] = {"enter",
                                   "leave",
                                   "communication",
                                   "sample",
                                   "mark_begin",
                                   "mark_end",
                                   "span_end",
                                   "gap",
                                   "flush_begin",
                                   "flush_end",
                                   "thread_end",
                                   "gap_end",
                                   "metric",
                                   "parameter",
                                   "request_test",
                                   "program_begin",
                                   "program_end",
                                   "fork",
                                   "join",
                                   "team_begin",
                                   "team_end",
                                   "thread_create",
                                   "thread_begin",
                                   "thread_wait",
                                   "lock_acquired",
                                   "lock_released",
                                   "task_create",
                                   "task_switch",
                                   "task_complete",
                                   "communicator_made",
                                   "communicator_freed",
                                   "window_made",
                                   "window_freed",
                                   "window_collective",
                                   "window_sync",
                                   "window_lock_requested",
                                   "window_locked",
                                   "window_unlocked"};
  static_assert(std::size(names) == types);
  return names[static_cast<std::size_t>(type)];
}

const char* name_of(events::Kind kind) {
  constexpr const char* names[events::kinds] = {
      "call",   "send", "receive", "collective", "one_sided", "read",       "write", "communicator", "generalized",
      "sample", "mark", "span",    "gap",        "flush",     "thread_end", "jump",  "metric",       "synchronization"};
  return names[static_cast<std::size_t>(kind)];
}

const char* name_of(events::Phase phase) {
  constexpr const char* names[] = {"whole", "begun", "completed", "cancelled"};
  return names[static_cast<std::size_t>(phase)];
}

}  // namespace refrain::trace
