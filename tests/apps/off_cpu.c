/* User code that runs and does not run, in regions, with a book of its own: wall time, CPU time and run delay of the
 * thread by the kernel's clocks, just outside of each region and just inside of it. What Refrain says lies between the
 * two.
 *
 *   off_cpu SEED ROUNDS KINDS [THREADS]
 *
 * KINDS are letters of the table `kinds`; a capital one takes its time in every tenth round only. With `die` instead of
 * letters, a signal ends the program in an MPI call. THREADS is the number of further threads, which do the same.
 *
 * Prints one line of JSON for each region of a rank and thread, and one for the time in MPI calls:
 *
 *   {"region": NAME, "visits": N, "inner": [wall, cpu, waited], "outer": [wall, cpu, waited], "short_blocked": s}
 *
 * short_blocked: time blocked in visits that are too short for a look of their own, unless the thread was switched out.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif
#include "refrain/refrain.h"

static double clock_s(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double wall_s(void) { return clock_s(CLOCK_MONOTONIC); }
static double cpu_s(void) { return clock_s(CLOCK_THREAD_CPUTIME_ID); }

static _Thread_local int schedstat = -1;
static double waited_s(void) {
  char text[100] = "", *end;
  if (schedstat < 0 || pread(schedstat, text, sizeof text - 1, 0) <= 0) return 0;
  strtoull(text, &end, 10);
  return 1e-9 * (double)strtoull(end, NULL, 10);
}

struct times {
  double wall, cpu, waited;
};
static struct times now(void) {
  struct times t;
  do {  // until all three are of one moment: the run delay is that of the clocks
    t.waited = waited_s();
    t.cpu = cpu_s();
    t.wall = wall_s();
  } while (t.waited != waited_s());
  return t;
}
static void add(struct times* sum, struct times from, struct times to) {
  sum->wall += to.wall - from.wall;
  sum->cpu += to.cpu - from.cpu;
  sum->waited += to.waited - from.waited;
}

static _Thread_local volatile double sink;
static void computes(double s) {
  const double begin = cpu_s();
  while (cpu_s() - begin < s)
    for (int i = 0; i < 300; ++i) sink += i;
}
static void sleeps(double s) {
  struct timespec t = {0, (long)(1e9 * s)};
  while (nanosleep(&t, &t) != 0 && errno == EINTR) {
  }
}

/* The other side of pipe, lock and core. */
struct partner {
  int to[2], from[2];
  pthread_mutex_t lock;
  pthread_t thread;
};
enum { to_compute = 1000 };
static void* serve(void* of) {
  struct partner* p = of;
  for (double s; read(p->to[0], &s, sizeof s) == sizeof s;) {
    if (s > to_compute) {
      computes(s - to_compute);
      continue;
    }
    const int locks = s < 0;
    if (locks) pthread_mutex_lock(&p->lock);
    char c = 0;
    if (locks && write(p->from[1], &c, 1) != 1) return NULL;
    sleeps(locks ? -s : s);
    if (locks) pthread_mutex_unlock(&p->lock);
    else if (write(p->from[1], &c, 1) != 1) return NULL;
  }
  return NULL;
}
static void waits_in_a_pipe(struct partner* p, double s) {
  char c;
  if (write(p->to[1], &s, sizeof s) == sizeof s && read(p->from[0], &c, 1) == 1) sink += c;
}
static void waits_for_a_lock(struct partner* p, double s) {
  waits_in_a_pipe(p, -s);
  pthread_mutex_lock(&p->lock);
  pthread_mutex_unlock(&p->lock);
}
static void writes_to_disk(double s) {
  static _Thread_local int file = -1;
  if (file < 0) {
    char name[] = "off_cpu-XXXXXX";
    file = mkstemp(name);
    unlink(name);
  }
  char block[4096];
  memset(block, (int)(1e6 * s), sizeof block);
  if (write(file, block, sizeof block) > 0) fsync(file);
}
static void touches_pages(double s) {
  const size_t size = (size_t)(s * 1e9);
  char* at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return;
  for (size_t i = 0; i < size; i += 4096) at[i] = 1;
  munmap(at, size);
}
static void is_stopped(double s) {
  const pid_t self = getpid();
  const pid_t child = vfork();
  if (child == 0) {
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%.4f", s);
    char line[200];
    snprintf(line, sizeof line, "kill -STOP %d; sleep %s; kill -CONT %d", (int)self, seconds, (int)self);
    unsetenv("LD_PRELOAD");
    execl("/bin/sh", "sh", "-c", line, (char*)NULL);
    _exit(1);
  }
  waitpid(child, NULL, 0);
}
static void yields(double s) {
  const double begin = wall_s();
  while (wall_s() - begin < s) sched_yield();
}

/* The partner computes meanwhile: on one core this thread hardly runs. */
static void lends_its_core(struct partner* p, double s) {
  const double order = s + to_compute;
  if (s > 0 && write(p->to[1], &order, sizeof order) == sizeof order) yields(s);
}

// clang-format off
#define KINDS(X) \
  X('c', computes, computes(s)) \
  X('b', busy, computes(10 * s)) \
  X('s', sleeps, sleeps(s)) \
  X('p', pipe, waits_in_a_pipe(p, s)) \
  X('l', lock, waits_for_a_lock(p, s)) \
  X('f', files, writes_to_disk(s)) \
  X('t', pages, touches_pages(s)) \
  X('z', stopped, is_stopped(s)) \
  X('y', yields, yields(s)) \
  X('w', lent, lends_its_core(p, s))
// clang-format on
#define LETTER(letter, name, does) letter,
static const char letters[] = {KINDS(LETTER)};
#define NAME(letter, name, does) #name,
static const char* const names[] = {KINDS(NAME)};
enum { kinds = sizeof letters };

/* What a hypervisor takes from a region that lasts less may be told of the next one. */
static const double shortest_look_s = 0.5e-3;

struct job {
  int seed, rounds, thread;
  const char* wanted;
  struct times inner[kinds], outer[kinds], mpi, inside_iterations, around_iterations;
  double short_blocked[kinds];
  int visits[kinds], calls;
};

/* The region is marked in a function of its own name. */
#define DO(letter, name, does)                                                                        \
  __attribute__((noinline)) static void do_##name(struct partner* p, double s, struct times* inner) { \
    (void)p;                                                                                          \
    REFRAIN_REGION_BEGIN(#name);                                                                      \
    const struct times begin = now();                                                                 \
    does;                                                                                             \
    add(inner, begin, now());                                                                         \
    REFRAIN_REGION_END(#name);                                                                        \
  }
KINDS(DO)
#define CALL(letter, name, does) do_##name,
static void (*const functions[])(struct partner*, double, struct times*) = {KINDS(CALL)};

static void meet(struct job* job) {
#ifdef WITH_MPI
  if (job->thread > 0) return;
  const struct times begin = now();
  MPI_Barrier(MPI_COMM_WORLD);
  add(&job->mpi, begin, now());
  ++job->calls;
#else
  (void)job;
#endif
}

static void* run(void* of) {
  struct job* job = of;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
  schedstat = open(path, O_RDONLY | O_CLOEXEC);
  struct partner p;
  pthread_mutex_init(&p.lock, NULL);
  if (pipe(p.to) != 0 || pipe(p.from) != 0) exit(3);
  pthread_create(&p.thread, NULL, serve, &p);
  unsigned state = (unsigned)job->seed;
  if (job->thread == 0) REFRAIN_LOOP_BEGIN("rounds");
  for (int i = 0; i < job->rounds; ++i) {
    const struct times around = now();
    if (job->thread == 0) REFRAIN_ITERATION_BEGIN();
    const struct times inside = now();
    for (const char* letter = job->wanted; *letter; ++letter) {
      const int kind = (int)((const char*)memchr(letters, tolower(*letter), kinds) - letters);
      const double drawn_s = 1e-3 * (0.05 + 5.0 * rand_r(&state) / RAND_MAX), rare_s = i % 10 == 9 ? 30e-3 : 0;
      const double s = isupper(*letter) ? rare_s : drawn_s;
      const struct times begin = now();
      functions[kind](&p, s, &job->inner[kind]);
      const struct times end = now();
      add(&job->outer[kind], begin, end);
      const double wall = end.wall - begin.wall;
      if (wall < shortest_look_s)
        job->short_blocked[kind] += wall - (end.cpu - begin.cpu) - (end.waited - begin.waited);
      ++job->visits[kind];
    }
    meet(job);
    add(&job->inside_iterations, inside, now());
    if (job->thread == 0) REFRAIN_ITERATION_END();
    add(&job->around_iterations, around, now());
  }
  if (job->thread == 0) REFRAIN_LOOP_END();
  close(p.to[1]);
  pthread_join(p.thread, NULL);
  return NULL;
}

static void print(const char* what, int visits, struct times inner, struct times outer, double short_blocked) {
  printf(
      "{\"region\": \"%s\", \"visits\": %d, \"inner\": [%.9f, %.9f, %.9f], \"outer\": [%.9f, %.9f, %.9f], "
      "\"short_blocked\": %.9f}\n",
      what, visits, inner.wall, inner.cpu, inner.waited, outer.wall, outer.cpu, outer.waited, short_blocked);
}

int main(int argc, char** argv) {
  int rank = 0;
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
  if (argc < 4) return 2;
#ifdef WITH_MPI
  if (strcmp(argv[3], "die") == 0) {  // in a call that waits for nobody
    computes(1);
    alarm(1);
    char byte;
    MPI_Recv(&byte, 1, MPI_BYTE, rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
#endif
  const int threads = argc > 4 ? atoi(argv[4]) : 0;
  struct job* jobs = calloc((size_t)threads + 1, sizeof *jobs);
  pthread_t* others = calloc((size_t)threads + 1, sizeof *others);
  for (int i = 0; i <= threads; ++i) {
    jobs[i].seed = atoi(argv[1]) + 1000 * rank + i;
    jobs[i].rounds = atoi(argv[2]);
    jobs[i].wanted = argv[3];
    jobs[i].thread = i;
    if (i > 0) pthread_create(&others[i], NULL, run, &jobs[i]);
  }
  run(&jobs[0]);
  for (int i = 1; i <= threads; ++i) pthread_join(others[i], NULL);
  for (int i = 0; i <= threads; ++i) {
    for (int kind = 0; kind < kinds; ++kind)
      if (jobs[i].visits[kind] > 0) {
        const struct job* of = &jobs[i];
        print(names[kind], of->visits[kind], of->inner[kind], of->outer[kind], of->short_blocked[kind]);
      }
    if (i == 0) print("iterations", jobs[i].rounds, jobs[i].inside_iterations, jobs[i].around_iterations, 0);
    if (jobs[i].calls > 0) print("MPI", jobs[i].calls, jobs[i].mpi, jobs[i].mpi, 0);
  }
  fflush(stdout);
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return 0;
}
