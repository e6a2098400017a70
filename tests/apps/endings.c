/* A program that ends in the way that is named, after a known amount of work.
 *
 *   endings WAY ROUNDS [RANK]
 *
 * With MPI (-DWITH_MPI): ROUNDS times MPI_Allreduce of 3 doubles in a function `round_trip`, then the end, on rank RANK
 * (default: all); the others go on to MPI_Barrier. Every way has its own exit status, and whatever the program prints
 * goes through write(2), so that nothing depends on buffers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#else
static volatile double sum;
#endif

static int own_rank, rounds;
static char way[64];

static void say(const char* text) {
  char line[200];
  int n = snprintf(line, sizeof line, "rank %d: %s\n", own_rank, text);
  if (write(1, line, (size_t)n) != n) abort();
}

static void say_ready(void) {
  char text[60];
  snprintf(text, sizeof text, "ready, process %d", (int)getpid());
  say(text);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int is(const char* name) { return strcmp(way, name) == 0; }

__attribute__((noinline, noclone)) static void compute(double for_s) {
  double end = seconds() + for_s;
  while (seconds() < end)
    for (volatile int i = 0; i < 1000; ++i) {
    }
}

__attribute__((noinline, noclone)) static void round_trip(int i) {
#ifdef WITH_MPI
  double in[3] = {i, i, i}, out[3];
  MPI_Allreduce(in, out, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#else
  sum += i;
#endif
}

static void finalize(void) {
#ifdef WITH_MPI
  MPI_Finalize();
#endif
}
static void finalize_and_say(void) {
  finalize();
  say("finalized in a handler of exit");
}

extern void (*late_ending)(void); /* endings_late.c */

/* Where an object with a destructor would be. */
__attribute__((destructor)) static void at_the_end(void) {
  if (is("destructor")) finalize_and_say();
}

static void quick(void) { say("quick handler"); }
static void slow(void) { say("handler of exit"); }

static volatile sig_atomic_t asked;
static void on_signal(int s) {
  say(s == SIGTERM ? "handler of SIGTERM" : "handler");
  asked = 1;
}
static void on_signal_leave(int s) {
  (void)s;
  say("handler that leaves");
  _exit(9);
}
static void on_signal_exit(int s) {
  (void)s;
  say("handler that calls exit");
  exit(10);
}
static void on_signal_info(int s, siginfo_t* info, void* context) {
  (void)s;
  say(info->si_pid == getpid() && info->si_code == SI_TKILL && context ? "handler with information"
                                                                       : "wrong information");
}

static void* exit_in_thread(void* unused) {
  (void)unused;
  usleep(200000);
  exit(6);
}

__attribute__((noinline, noclone)) static int overflow(int depth) {
  volatile char room[4096];
  room[0] = (char)depth;
  return overflow(depth + 1) + room[0];
}

/* A stack of its own lets the handler of a tool run when this one is used up. */
static void use_alternate_stack(void) {
  static char stack[1 << 16];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
}

static void wait_here(void) {
#ifdef WITH_MPI
  int nothing;
  /* Never matched: a rank that waits for its peers. */
  MPI_Recv(&nothing, 1, MPI_INT, own_rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#else
  for (;;) pause();
#endif
}

static volatile int* volatile nowhere;
void throw_and_never_catch(void);

static void end(void) {
  if (is("return")) return;
  if (is("destructor")) return;
  if (is("library")) {
    late_ending = finalize_and_say;
    return;
  }
  if (is("atexit")) {
    atexit(finalize_and_say);
    exit(0); /* another status would end the other ranks */
  }
  if (is("exit")) exit(4);
  if (is("thread")) {
    pthread_t t;
    pthread_create(&t, NULL, exit_in_thread, NULL);
    wait_here();
  }
  if (is("_exit")) _exit(5);
  if (is("_Exit")) _Exit(7);
  if (is("quick_exit")) {
    at_quick_exit(quick);
    atexit(slow);
    quick_exit(8);
  }
#ifdef WITH_MPI
  if (is("abort_mpi")) MPI_Abort(MPI_COMM_WORLD, 42);
  if (is("error")) MPI_Send(&own_rank, 1, MPI_INT, 1000, 1, MPI_COMM_WORLD); /* no such rank: errors are fatal */
#endif
  if (is("abort")) abort();
  if (is("throw")) throw_and_never_catch();
  if (is("segv")) nowhere[0] = 1;
  if (is("bus")) raise(SIGBUS);
  if (is("overflow")) overflow(0);
  if (is("overflow_alternate")) {
    use_alternate_stack();
    overflow(0);
  }
  if (is("kill")) raise(SIGKILL);
  if (is("raise_term")) raise(SIGTERM);
  if (is("raise_hup")) kill(getpid(), SIGHUP);
  if (is("raise_int")) raise(SIGINT);
  if (is("raise_segv")) raise(SIGSEGV);
  if (!strncmp(way, "raise_", 6) && atoi(way + 6) > 0) raise(atoi(way + 6));
  if (is("pipe")) {
    int fds[2];
    if (pipe(fds) == 0) close(fds[0]);
    if (write(fds[1], "x", 1) < 0) say("survived"); /* never */
  }
  if (is("term_info")) {
    struct sigaction a = {.sa_sigaction = on_signal_info, .sa_flags = SA_SIGINFO};
    sigaction(SIGTERM, &a, NULL);
    raise(SIGTERM);
    say("went on");
    exit(0);
  }
  if (is("term_once")) { /* the second one kills */
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}, now;
    sigaction(SIGTERM, &a, NULL);
    raise(SIGTERM);
    sigaction(SIGTERM, NULL, &now);
    say(now.sa_handler == SIG_DFL ? "reset" : "not reset");
    raise(SIGTERM);
  }
  if (is("term_ignored")) {
    signal(SIGTERM, SIG_IGN);
    raise(SIGTERM);
    say("ignored");
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
  }
  /* These wait for a signal from outside. */
  if (is("wait") || is("wait_handler") || is("wait_leave") || is("wait_exit")) {
    if (is("wait_handler")) signal(SIGTERM, on_signal);
    if (is("wait_leave")) signal(SIGTERM, on_signal_leave);
    if (is("wait_exit")) signal(SIGTERM, on_signal_exit);
    say_ready();
    if (!is("wait_handler")) wait_here();
    while (!asked) compute(0.001);
    compute(1); /* its own way to the end */
    say("ending");
  }
  if (is("malloc_storm")) { /* SIGTERM finds it in malloc, or in MPI, or in Refrain */
    say_ready();
    for (int i = 0;; ++i) {
      free(malloc((size_t)(i % 100000)));
#ifdef WITH_MPI
      int flag;
      MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
#endif
    }
  }
}

int main(int argc, char** argv) {
  snprintf(way, sizeof way, "%s", argc > 1 ? argv[1] : "return");
  rounds = argc > 2 ? atoi(argv[2]) : 0;
  int ending_rank = argc > 3 ? atoi(argv[3]) : -1;
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, getenv("WITH_CORE") ? &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY} : &none);
#ifdef WITH_MPI
  if (getenv("LATE")) compute(atof(getenv("LATE")));
  if (is("never")) {
    compute(0.3);
    puts("no MPI_Init");
    return 2;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
#endif
  for (int i = 0; i < rounds; ++i) round_trip(i);
  compute(0.05);
  say("at its end");
  if (ending_rank < 0 || ending_rank == own_rank) {
    if (ending_rank >= 0) usleep(300000); /* the others wait for it by now */
    end();
    return is("destructor") || is("library") ? 0 : 2;
  }
#ifdef WITH_MPI
  MPI_Barrier(MPI_COMM_WORLD);
  finalize();
#endif
  return 0;
}
