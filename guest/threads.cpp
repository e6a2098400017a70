/// Threads that the program makes become locations. Those made inside MPI, by Refrain or by unmeasured threads do not;
/// those of MPI are known, so that their CPU time is not taken for that of threads that nobody saw.
///
/// A new thread finds its start routine in a slot of a fixed table: nothing is allocated, and the program's own
/// argument stays what it was.

#include <atomic>
#include <cstdint>
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "measurement/abandoned_scope.hpp"
#include "measurement/consumers.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/location.hpp"
#include "measurement/unseen_threads.hpp"
#include "platform/next_definition.hpp"

namespace {

using refrain::measurement::Inside;
using refrain::measurement::lifecycle;
using refrain::measurement::Loss;
using refrain::measurement::own_location;

struct Slot {
  std::atomic<bool> taken{false};
  union {
    void* (*posix)(void*);
    int (*c11)(void*);
  } routine;
  void* argument;
  bool of_mpi;
};
Slot slots[512];

Slot* take_slot() {
  for (Slot& slot : slots) {
    bool taken = false;
    if (!slot.taken.load(std::memory_order_relaxed) && slot.taken.compare_exchange_strong(taken, true)) return &slot;
  }
  return nullptr;
}

/// The calling thread is one of MPI's own.
thread_local bool is_of_mpi __attribute__((tls_model("initial-exec"))) = false;

/// Of a thread that the program has not made: whether MPI has, or a thread of MPI.
bool made_by_mpi() { return lifecycle.thread_begins && (own_location() || is_of_mpi); }

void lose_thread() {
  own_location()->count_loss(Loss::ThreadUnmeasured);
  refrain::measurement::messages_go_uncounted.store(true, std::memory_order_relaxed);
}

void begin_thread(bool of_mpi) {
  if (!of_mpi) return lifecycle.thread_begins();
  is_of_mpi = true;
  refrain::measurement::note_thread_of_mpi();
}

/// True when the thread that is about to be made is one of the program's own. `frame`: of the function that the program
/// called.
bool made_by_program(const void* frame) {
  auto* location = own_location();
  if (!lifecycle.thread_begins || !location) return false;
  if (location->inside.load(std::memory_order_relaxed) == Inside::User) return true;
  const auto* words = static_cast<const std::uintptr_t*>(frame);
  return leave_abandoned_scope(*location, {words[1], reinterpret_cast<std::uintptr_t>(words + 2), words[0]});
}

void* run_posix(void* argument) {
  auto* slot = static_cast<Slot*>(argument);
  auto* routine = slot->routine.posix;
  void* own_argument = slot->argument;
  const bool of_mpi = slot->of_mpi;
  slot->taken.store(false, std::memory_order_release);
  begin_thread(of_mpi);
  return routine(own_argument);
}

int run_c11(void* argument) {
  auto* slot = static_cast<Slot*>(argument);
  auto* routine = slot->routine.c11;
  void* own_argument = slot->argument;
  const bool of_mpi = slot->of_mpi;
  slot->taken.store(false, std::memory_order_release);
  begin_thread(of_mpi);
  return routine(own_argument);
}

refrain::platform::NextDefinition<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> next_pthread_create{
    "pthread_create"};
refrain::platform::NextDefinition<int(thrd_t*, thrd_start_t, void*)> next_thrd_create{"thrd_create"};

}  // namespace

extern "C" [[gnu::visibility("default")]] int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                             void* (*routine)(void*), void* argument) {
  auto* next = next_pthread_create.get();
  if (!next) return EAGAIN;
  const bool of_program = made_by_program(__builtin_frame_address(0));
  if (!of_program && !made_by_mpi()) return next(thread, attributes, routine, argument);
  Slot* slot = take_slot();
  if (!slot) {
    if (of_program) lose_thread();
    return next(thread, attributes, routine, argument);
  }
  slot->of_mpi = !of_program;
  slot->routine.posix = routine;
  slot->argument = argument;
  const int result = next(thread, attributes, run_posix, slot);
  if (result != 0) slot->taken.store(false, std::memory_order_release);
  return result;
}

// glibc's thrd_create does not go through the public pthread_create.
extern "C" [[gnu::visibility("default")]] int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  auto* next = next_thrd_create.get();
  if (!next) return thrd_error;
  const bool of_program = made_by_program(__builtin_frame_address(0));
  if (!of_program && !made_by_mpi()) return next(thread, routine, argument);
  Slot* slot = take_slot();
  if (!slot) {
    if (of_program) lose_thread();
    return next(thread, routine, argument);
  }
  slot->of_mpi = !of_program;
  slot->routine.c11 = routine;
  slot->argument = argument;
  const int result = next(thread, run_c11, slot);
  if (result != thrd_success) slot->taken.store(false, std::memory_order_release);
  return result;
}
