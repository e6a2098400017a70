// Calls of MPI that are left otherwise than by their return. The error handler of the world jumps, or throws, out of an
// MPI_Send to a rank that does not exist.
//
//   abandoned_calls WAY COUNT
//
// After that the program works for 0.3 s and makes COUNT calls of MPI_Barrier on itself. The WAYs differ in where the
// jump leads and where the next calls are made from; `returns` does not jump. It prints what it has done.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mpi.h>
#include <pthread.h>
#include <refrain/refrain.h>
#include <ucontext.h>
#include <unistd.h>

#define PATH __attribute__((noinline, noclone))

namespace {

volatile double sink;
double cpu() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
extern "C" PATH void work(double seconds) {
  const double end = cpu() + seconds;
  do
    for (int i = 0; i < 5000; ++i) sink = sink + i;
  while (cpu() < end);
}

enum class Leave { Return, Jump, Throw, Finalize } leave = Leave::Jump;
std::jmp_buf target;
int handled = 0;

// On an alternate stack that lies further out than the call that is interrupted.
extern "C" void on_signal(int) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

extern "C" void on_error(MPI_Comm*, int*, ...) {
  ++handled;
  if (leave == Leave::Return) std::raise(SIGUSR1);
  if (leave == Leave::Throw) throw 1;
  if (leave == Leave::Jump) std::longjmp(target, 1);
  if (leave == Leave::Finalize) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    if (rank == 0) std::printf("finalized in the handler\n");  // launchers do not keep lines of two ranks apart
    std::fflush(stdout);
    _exit(0);
  }
}

void send_wrongly() {
  int value = 0;
  MPI_Send(&value, 1, MPI_INT, 9999, 0, MPI_COMM_WORLD);
}
PATH void send_wrongly_from_far() {
  volatile char large[300000];
  large[0] = large[sizeof large - 1] = 1;
  send_wrongly();
  large[1] = 2;
}
void barriers(int count) {
  for (int i = 0; i < count; ++i) MPI_Barrier(MPI_COMM_SELF);
}
PATH void barriers_deeper(int count) {
  volatile char some[500];
  some[0] = some[sizeof some - 1] = 1;
  barriers(count);
  some[1] = 2;
}

PATH void in_the_same_frame(int count) {
  if (setjmp(target) == 0) {
    send_wrongly();
  } else {
    work(0.3);
    barriers(count);
  }
}
PATH void from_far(int count) {
  if (setjmp(target) == 0) {
    send_wrongly_from_far();
  } else {
    work(0.3);
    barriers(count);
  }
}
PATH void deeper(int count) {
  if (setjmp(target) == 0) {
    send_wrongly();
  } else {
    work(0.3);
    barriers_deeper(count);
  }
}
PATH void send_wrongly_from_deeper() {
  volatile double values[256];
  values[0] = 1;
  MPI_Send(const_cast<double*>(values), 256, MPI_DOUBLE, 9999, 0, MPI_COMM_WORLD);
  values[1] = 2;
}
// Its frame lies over the place of the call that was left, and leaves what is there as it is.
PATH void go_on_above(int count) {
  volatile double cache[4096];
  cache[0] = 1;
  work(0.3);
  barriers(count);
  cache[1] = 2;
  (void)cache;
}
PATH void untouched(int count) {
  if (setjmp(target) == 0) send_wrongly_from_deeper();
  else go_on_above(count);
}
PATH void to_the_end() {
  if (setjmp(target) == 0) send_wrongly();
  else work(0.3);
}
PATH void by_exception(int count) {
  try {
    send_wrongly_from_far();
  } catch (int) {
    work(0.3);
    barriers(count);
  }
}
PATH void to_a_mark(int count) {
  if (setjmp(target) == 0) {
    send_wrongly();
  } else {
    REFRAIN_LOOP_BEGIN("steps");
    for (int i = 0; i < count; ++i) {
      REFRAIN_ITERATION_BEGIN();
      work(0.3 / count);
      MPI_Barrier(MPI_COMM_SELF);
      REFRAIN_ITERATION_END();
    }
    REFRAIN_LOOP_END();
  }
}
PATH void* in_a_thread(void*) {
  work(0.3);
  return nullptr;
}
PATH void to_a_thread(int count) {
  if (setjmp(target) == 0) {
    send_wrongly();
  } else {
    pthread_t thread;
    pthread_create(&thread, nullptr, in_a_thread, nullptr);
    pthread_join(thread, nullptr);
    barriers(count);
  }
}
// A second jump out of the same call site, many times.
PATH void again_and_again(int count) {
  volatile int times = 0;
  (void)setjmp(target);
  if (times < count) {
    times = times + 1;
    send_wrongly();
  }
  work(0.3);
  barriers(count);
}

ucontext_t outside, fiber;
int fiber_count;
void run_fiber() { in_the_same_frame(fiber_count); }
PATH void on_a_fiber(int count) {
  constexpr std::size_t size = 1 << 20;
  void* stack = std::malloc(size);
  fiber_count = count;
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack;
  fiber.uc_stack.ss_size = size;
  fiber.uc_link = &outside;
  makecontext(&fiber, run_fiber, 0);
  swapcontext(&outside, &fiber);
  std::free(stack);
}

// What is called within a call that is alive is part of it.
PATH void returns(int count) {
  alignas(16) char alternate[64 * 1024];
  stack_t stack{};
  stack.ss_sp = alternate;
  stack.ss_size = sizeof alternate;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  leave = Leave::Return;
  send_wrongly();
  work(0.3);
  barriers(count);
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* way = argv[1];
  const int count = std::atoi(argv[2]);
  const auto is = [&](const char* name) { return std::strcmp(way, name) == 0; };
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Errhandler errors;
  MPI_Comm_create_errhandler(on_error, &errors);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors);
  if (is("finalize_in_handler")) {
    leave = Leave::Finalize;
    send_wrongly();
  }
  if (rank == 0) {
    if (is("same_frame")) in_the_same_frame(count);
    if (is("far")) from_far(count);
    if (is("deeper")) deeper(count);
    if (is("untouched")) untouched(count);
    if (is("finalize")) to_the_end();
    if (is("mark")) to_a_mark(count);
    if (is("thread")) to_a_thread(count);
    if (is("again")) again_and_again(count);
    if (is("fiber")) on_a_fiber(count);
    if (is("returns")) returns(count);
    if (is("exception")) {
      leave = Leave::Throw;
      by_exception(count);
    }
    std::printf("%s: handled %d\n", way, handled);
  }
  MPI_Finalize();
  return 0;
}
