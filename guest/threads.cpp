/// Makes locations of threads that the program makes. Threads made inside MPI, by Refrain or by unmeasured threads get
/// none, but those of MPI are known, so that their CPU time does not count as that of unseen threads.
///
/// A new thread finds its start routine in a slot of a fixed table, so nothing is allocated, and the program's own
/// argument is passed on unchanged.

#include <atomic>
#include <cstdint>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <threads.h>

#include "guest/guest.hpp"
#include "measurement/abandoned_scope.hpp"
#include "measurement/event_log.hpp"
#include "measurement/location.hpp"
#include "measurement/locations.hpp"
#include "measurement/unseen_threads.hpp"
#include "platform/next_definition.hpp"

namespace refrain::guest {
namespace {

using measurement::Location;
using measurement::own_location;

struct Slot {
  std::atomic<bool> taken{false};
  void (*routine)();  ///< cast from the type that run() knows
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

// ---- ends -----------------------------------------------------------------------------------------------------------

pthread_key_t thread_end_key;

/// Destructors of the program's own keys may make MPI calls. The C library runs all destructors again, a few times,
/// while any key has a new value, so the location ends in the last round. A forked child has no location.
void on_thread_end(void* value) {
  static thread_local int rounds = 0;
  if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(thread_end_key, value) == 0) return;
  rounds = 0;
  if (Location* location = own_location()) measurement::end_location(*location);
}

// ---- begins ---------------------------------------------------------------------------------------------------------

/// The calling thread is one of MPI's own.
thread_local bool is_of_mpi __attribute__((tls_model("initial-exec"))) = false;

void begin_thread(bool of_mpi) {
  if (of_mpi) {
    is_of_mpi = true;
    measurement::note_thread_of_mpi();
  } else if (callbacks.thread_begins()) {
    pthread_setspecific(thread_end_key, own_location());
  }
}

/// The start routine of all threads that have a slot. `Result` is the result type of the program's routine.
template <class Result>
Result run(void* argument) {
  auto* slot = static_cast<Slot*>(argument);
  auto* routine = reinterpret_cast<Result (*)(void*)>(slot->routine);
  void* own_argument = slot->argument;
  const bool of_mpi = slot->of_mpi;
  slot->taken.store(false, std::memory_order_release);
  begin_thread(of_mpi);
  return routine(own_argument);
}

/// Whether the program itself makes the thread that is about to begin. `frame` is the frame of the function that the
/// program called.
bool made_by_program(const void* frame) {
  Location* location = own_location();
  if (!location || !callbacks.is_measured()) return false;
  if (location->inside.load(std::memory_order_relaxed) == measurement::Inside::User) return true;
  const auto* words = static_cast<const std::uintptr_t*>(frame);
  return leave_abandoned_scope(*location, {words[1], reinterpret_cast<std::uintptr_t>(words + 2), words[0]});
}

/// For a thread that the program does not make: whether MPI, or a thread of MPI, makes it.
bool made_by_mpi() { return (own_location() || is_of_mpi) && callbacks.is_measured(); }

/// `make(routine, argument)` makes a thread; its result is returned, 0 on success.
template <class Result, class Make>
int make_thread(const void* frame, Result (*routine)(void*), void* argument, Make&& make) {
  const bool of_program = made_by_program(frame);
  if (!of_program && !made_by_mpi()) return make(routine, argument);
  Slot* slot = take_slot();
  if (!slot) {
    if (of_program) {
      own_location()->count_loss(measurement::Loss::ThreadUnmeasured);
      measurement::messages_go_uncounted.store(true, std::memory_order_relaxed);
    }
    return make(routine, argument);
  }
  slot->of_mpi = !of_program;
  slot->routine = reinterpret_cast<void (*)()>(routine);
  slot->argument = argument;
  const int result = make(run<Result>, slot);
  if (result != 0) slot->taken.store(false, std::memory_order_release);
  return result;
}
static_assert(thrd_success == 0);

platform::NextDefinition<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> next_pthread_create{
    "pthread_create"};
platform::NextDefinition<int(thrd_t*, thrd_start_t, void*)> next_thrd_create{"thrd_create"};

}  // namespace

bool watch_threads() { return pthread_key_create(&thread_end_key, on_thread_end) == 0; }

}  // namespace refrain::guest

using namespace refrain::guest;

extern "C" REFRAIN_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                             void* (*routine)(void*), void* argument) {
  auto* next = next_pthread_create.get();
  if (!next) return EAGAIN;
  return make_thread(__builtin_frame_address(0), routine, argument,
                     [&](void* (*start)(void*), void* with) { return next(thread, attributes, start, with); });
}

// glibc's thrd_create does not call the public pthread_create.
extern "C" REFRAIN_EXPORT int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  auto* next = next_thrd_create.get();
  if (!next) return thrd_error;
  return make_thread(__builtin_frame_address(0), routine, argument,
                     [&](thrd_start_t start, void* with) { return next(thread, start, with); });
}
