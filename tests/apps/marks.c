/* Marks, right and wrong:  marks CASE
 *
 * Every case prints one line of JSON with what it has planted: seconds by the wall clock, counts. Cases of misuse are
 * followed by 20 right iterations of the loop "good". Built with MPI (-DWITH_MPI) and without.
 */
#ifdef WITH_MPI
#include <mpi.h>
#endif
#include <pthread.h>
#include <refrain/refrain.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static volatile double sink;
NOINLINE static void spin(double seconds) {
  for (double end = now() + seconds; now() < end;)
    for (int i = 0; i < 1000; ++i) sink += 1;
}
NOINLINE static void spin_before(double seconds) { spin(seconds), sink += 1; }
NOINLINE static void spin_inside(double seconds) { spin(seconds), sink += 2; }
NOINLINE static void spin_after(double seconds) { spin(seconds), sink += 3; }

NOINLINE static void communicate(void) {
#ifdef WITH_MPI
  char byte = 0, other = 0;
  MPI_Sendrecv(&byte, 1, MPI_CHAR, 0, 0, &other, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
#endif
}

/* Compiled into its callers, so that it has no frame of its own. */
__attribute__((always_inline)) static inline void communicate_inlined(void) {
#ifdef WITH_MPI
  int flag;
  MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
#endif
}

/* ---- right ---- */

NOINLINE static void descend(int depth) {
  REFRAIN_REGION_BEGIN("recursive");
  if (depth > 1) descend(depth - 1);
  communicate();
  REFRAIN_REGION_END("recursive");
}

/* Of a region: the time between its marks, and the time around them. On a busy machine they may be far apart. */
typedef struct {
  double least, most;
} Time;

/* One function from which the same calls are made before, in and after a region. */
NOINLINE static Time around(void) {
  spin_before(0.2);
  communicate();
  Time region = {0, -now()};
  REFRAIN_REGION_BEGIN("region");
  region.least -= now();
  spin_inside(0.2);
  communicate();
  communicate();
  region.least += now();
  REFRAIN_REGION_END("region");
  region.most += now();
  spin_after(0.2);
  communicate();
  return region;
}

/* One call that is made before, in and after a region; an optimizer would make several of it. */
__attribute__((noinline, noclone, optimize("O0"))) static void now_and_then(void) {
  for (int i = 0; i < 12; ++i) {
    if (i == 3) REFRAIN_REGION_BEGIN("a while");
    if (i == 8) REFRAIN_REGION_END("a while");
    communicate();
  }
}

/* Calls in turn from several places of the function with the region. */
__attribute__((noinline, noclone, optimize("O0"))) static void several_places(void) {
  for (int i = 0; i < 12; ++i) {
    if (i == 3) REFRAIN_REGION_BEGIN("some");
    communicate_inlined();
    communicate_inlined();
    if (i == 8) REFRAIN_REGION_END("some");
    communicate_inlined();
  }
}

static void regions(void) {
  now_and_then();
  several_places();
  const Time region = around();
  descend(5);
  Time outer = {0, 0}, inner = {0, 0};
  for (int i = 0; i < 100; ++i) {
    outer.most -= now();
    REFRAIN_REGION_BEGIN("outer");
    outer.least -= now();
    for (int k = 0; k < 3; ++k) {
      inner.most -= now();
      REFRAIN_REGION_BEGIN("inner");
      inner.least -= now();
      for (double end = now() + 0.0003; now() < end;) sink += 1; /* own code of main's caller, inlined or not */
      inner.least += now();
      REFRAIN_REGION_END("inner");
      inner.most += now();
    }
    communicate_inlined();
    outer.least += now();
    REFRAIN_REGION_END();
    outer.most += now();
  }
  printf("{\"region\": [%.9f, %.9f], \"outer\": [%.9f, %.9f], \"inner\": [%.9f, %.9f]}\n", region.least, region.most,
         outer.least, outer.most, inner.least, inner.most);
}

NOINLINE static void loop_of(int steps, double seconds) {
  REFRAIN_LOOP_BEGIN("first");
  for (int i = 0; i < steps; ++i) {
    REFRAIN_ITERATION_BEGIN();
    spin(i % 10 == 9 ? 5 * seconds : seconds);
    for (int k = 0; k <= i % 3; ++k) communicate();
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
}

static void loops(void) {
  loop_of(30, 0.001);
  REFRAIN_LOOP_BEGIN("second");
  for (int i = 0; i < 12; ++i) {
    REFRAIN_ITERATION_BEGIN();
    communicate();
    loop_of(4, 0.0005); /* inside: a region */
    REFRAIN_LOOP_BEGIN("third");
    for (int k = 0; k < 3; ++k) {
      REFRAIN_ITERATION_BEGIN();
      communicate();
      REFRAIN_ITERATION_END();
    }
    REFRAIN_LOOP_END();
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  loop_of(20, 0.001); /* again: numbering goes on */
  printf("{\"first\": 50, \"second\": 12}\n");
}

static void* thread_loop(void* argument) {
  const int steps = *(const int*)argument;
  REFRAIN_LOOP_BEGIN("in thread");
  for (int i = 0; i < steps; ++i) {
    REFRAIN_ITERATION_BEGIN();
    spin(0.001);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  return NULL;
}

static void threads(void) {
  int steps[3] = {40, 50, 60};
  pthread_t ids[3];
  for (int i = 0; i < 3; ++i) pthread_create(&ids[i], NULL, thread_loop, &steps[i]);
  for (int i = 0; i < 3; ++i) pthread_join(ids[i], NULL);
#ifdef _OPENMP
#pragma omp parallel num_threads(2)
  {
    REFRAIN_LOOP_BEGIN("in team");
    for (int i = 0; i < 25; ++i) {
      REFRAIN_ITERATION_BEGIN();
      spin(0.001);
      REFRAIN_ITERATION_END();
    }
    REFRAIN_LOOP_END();
  }
#endif
  printf("{}\n");
}

/* ---- wrong; each returns how often ---- */

static int end_without_begin(void) {
  REFRAIN_LOOP_END();
  REFRAIN_REGION_END("nothing");
  REFRAIN_REGION_END();
  REFRAIN_ITERATION_END();
  return 4;
}

static int iteration_outside(void) {
  REFRAIN_ITERATION_BEGIN();
  spin(0.01);
  REFRAIN_ITERATION_END();
  return 2;
}

static int iteration_twice(void) {
  REFRAIN_LOOP_BEGIN("bad");
  for (int i = 0; i < 10; ++i) {
    REFRAIN_ITERATION_BEGIN();
    spin(0.002);
    if (i % 2) continue; /* 5 times, the last of them at the end of the loop */
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  return 5;
}

static int loop_end_inside(void) {
  for (int i = 0; i < 3; ++i) {
    REFRAIN_LOOP_BEGIN("bad");
    for (int k = 0; k < 4; ++k) {
      REFRAIN_ITERATION_BEGIN();
      spin(0.002);
      if (k == 2) break;
      REFRAIN_ITERATION_END();
    }
    REFRAIN_LOOP_END();
  }
  return 3;
}

static int region_order(void) {
  for (int i = 0; i < 4; ++i) {
    REFRAIN_REGION_BEGIN("one");
    REFRAIN_REGION_BEGIN("two");
    communicate();
    REFRAIN_REGION_END("one"); /* closes both */
    REFRAIN_REGION_END("two"); /* was never begun */
  }
  return 8;
}

static jmp_buf back;
NOINLINE static void leaves_by_jump(int depth) {
  REFRAIN_REGION_BEGIN("left");
  if (depth) leaves_by_jump(depth - 1);
  REFRAIN_LOOP_BEGIN("bad");
  REFRAIN_ITERATION_BEGIN();
  longjmp(back, 1);
}
static int by_longjmp(void) {
  volatile int i = 0;
  for (; i < 6; ++i)
    if (!setjmp(back)) leaves_by_jump(4);
  REFRAIN_REGION_BEGIN("after jump");
  communicate();
  REFRAIN_REGION_END("after jump");
  return 6 * 6; /* five regions and a loop each time */
}

/* A loop inside an iteration that is left early is not the loop of the next iteration. */
static int inner_left(void) {
  REFRAIN_LOOP_BEGIN("bad");
  for (int i = 0; i < 10; ++i) {
    REFRAIN_ITERATION_BEGIN();
    REFRAIN_LOOP_BEGIN("inner");
    for (int k = 0; k < 3; ++k) {
      REFRAIN_ITERATION_BEGIN();
      communicate();
      REFRAIN_ITERATION_END();
      if (k == 1 && i % 4 == 3) goto next; /* twice */
    }
    REFRAIN_LOOP_END();
  next:
    spin(0.002);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  return 2;
}

NOINLINE static void forgets(int whether) {
  REFRAIN_REGION_BEGIN("forgotten");
  if (whether) return;
  communicate();
  REFRAIN_REGION_END("forgotten");
}
NOINLINE static void knows_nothing(void) { communicate(), sink += 1; }
NOINLINE static void comes_after(void) {
  REFRAIN_REGION_BEGIN("unrelated");
  communicate();
  REFRAIN_REGION_END();
}
static int early_return(void) {
  for (int i = 0; i < 6; ++i) {
    forgets(i % 2); /* three times */
    knows_nothing();
    comes_after();
  }
  return 3;
}

/* A region is left for the end of the iteration. */
static int region_in_iteration(void) {
  REFRAIN_LOOP_BEGIN("bad");
  for (int i = 0; i < 10; ++i) {
    REFRAIN_ITERATION_BEGIN();
    spin(0.002);
    REFRAIN_REGION_BEGIN("skipped");
    if (i % 2) goto end; /* five times */
    REFRAIN_REGION_END("skipped");
  end:
    REFRAIN_ITERATION_END();
    REFRAIN_REGION_BEGIN("between");
    communicate();
    REFRAIN_REGION_END("between");
  }
  REFRAIN_LOOP_END();
  return 5;
}

static int region_across(void) {
  REFRAIN_LOOP_BEGIN("bad");
  for (int i = 0; i < 10; ++i) {
    REFRAIN_REGION_BEGIN("across");
    REFRAIN_ITERATION_BEGIN();
    spin(0.002);
    REFRAIN_REGION_END("across");
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  return 10;
}

NOINLINE static void loop_too_deep(void) {
  REFRAIN_LOOP_BEGIN("too deep");
  for (int i = 0; i < 3; ++i) {
    REFRAIN_ITERATION_BEGIN();
    communicate();
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
}
NOINLINE static void nest(int depth) {
  REFRAIN_REGION_BEGIN("nested");
  if (depth > 1) nest(depth - 1);
  else loop_too_deep();
  REFRAIN_REGION_END("nested");
}
static int too_many_open(void) {
  nest(75);
  REFRAIN_LOOP_BEGIN("bad");
  for (int i = 0; i < 5; ++i) {
    REFRAIN_ITERATION_BEGIN();
    nest(70);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  return 16 + 5 * 12;
}

static int too_many_loops(void) {
#define ONE_LOOP(name)            \
  do {                            \
    REFRAIN_LOOP_BEGIN(name);     \
    for (int i = 0; i < 3; ++i) { \
      REFRAIN_ITERATION_BEGIN();  \
      communicate();              \
      REFRAIN_ITERATION_END();    \
    }                             \
    REFRAIN_LOOP_END();           \
  } while (0)
  ONE_LOOP("good");
  ONE_LOOP("a");
  ONE_LOOP("b");
  ONE_LOOP("c");
  ONE_LOOP("d");
  ONE_LOOP("e");
  ONE_LOOP("f");
  ONE_LOOP("g");
  ONE_LOOP("h");
  ONE_LOOP("i");
  ONE_LOOP("j");
  ONE_LOOP("k");
  ONE_LOOP("l");
  ONE_LOOP("m");
  ONE_LOOP("n");
  ONE_LOOP("o");
  ONE_LOOP("p");
  ONE_LOOP("q");
  return 2;
}

#define TEN(x) x x x x x x x x x x
static int strange_names(void) {
  for (int i = 0; i < 5; ++i) {
    REFRAIN_REGION_BEGIN("\xff\x01\n\"\\;bytes\xc3");
    REFRAIN_REGION_END("\xff\x01\n\"\\;bytes\xc3");
    REFRAIN_REGION_BEGIN(TEN(TEN("0123456789")));
    REFRAIN_REGION_END(TEN(TEN("0123456789")));
    REFRAIN_REGION_BEGIN("");
    REFRAIN_REGION_END();
    REFRAIN_REGION_BEGIN("Größe µ");
    REFRAIN_REGION_END("Größe µ");
  }
  return 3;
}

static int never_ended(void) { return 0; }

/* ---- what a mark costs ---- */

static void cost(void) {
  enum { marks = 200 * 1000 * 1000 };
  double best = 1e9;
  for (int k = 0; k < 5; ++k) {
    const double begin = now();
    for (int i = 0; i < marks; ++i) {
      REFRAIN_ITERATION_BEGIN();
      __asm__ volatile("" ::: "memory");
    }
    const double spent = now() - begin;
    if (spent < best) best = spent;
  }
  printf("{\"ns\": %.3f}\n", best / marks * 1e9);
}

typedef struct {
  const char* name;
  void (*right)(void);
  int (*wrong)(void);
} Case;
static const Case cases[] = {
    {"regions", regions, NULL},
    {"loops", loops, NULL},
    {"threads", threads, NULL},
    {"cost", cost, NULL},
    {"end_without_begin", NULL, end_without_begin},
    {"iteration_outside", NULL, iteration_outside},
    {"iteration_twice", NULL, iteration_twice},
    {"loop_end_inside", NULL, loop_end_inside},
    {"region_order", NULL, region_order},
    {"by_longjmp", NULL, by_longjmp},
    {"inner_left", NULL, inner_left},
    {"region_in_iteration", NULL, region_in_iteration},
    {"region_across", NULL, region_across},
    {"early_return", NULL, early_return},
    {"too_many_open", NULL, too_many_open},
    {"too_many_loops", NULL, too_many_loops},
    {"strange_names", NULL, strange_names},
    {"never_ended", NULL, never_ended},
};

NOINLINE static void good(void) {
  REFRAIN_LOOP_BEGIN("good");
  for (int i = 0; i < 20; ++i) {
    REFRAIN_ITERATION_BEGIN();
    spin(0.003);
    communicate();
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
}

#ifdef WITH_MPI
/* The last of ten iterations ends MPI; a region is open in it. */
NOINLINE static void finalize_inside(void) {
  REFRAIN_LOOP_BEGIN("until the end");
  for (int i = 0; i < 10; ++i) {
    REFRAIN_ITERATION_BEGIN();
    spin(0.01);
    communicate();
    if (i == 9) {
      REFRAIN_REGION_BEGIN("ending");
      spin(0.02);
      MPI_Finalize();
      REFRAIN_REGION_END("ending");
    }
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
}
#endif

int main(int argc, char** argv) {
#ifdef WITH_MPI
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
#endif
  if (argc > 1 && !strcmp(argv[1], "never_ended")) /* but by the end of the measurement, which is no misuse */
    REFRAIN_REGION_BEGIN("whole run");
#ifdef WITH_MPI
  if (argc > 1 && !strcmp(argv[1], "finalize_inside")) return finalize_inside(), 0;
#endif
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (argc < 2 || strcmp(argv[1], cases[i].name)) continue;
    if (cases[i].right) cases[i].right();
    if (!cases[i].wrong) continue;
    const int times = cases[i].wrong();
    good();
    printf("{\"misused\": %d}\n", times);
  }
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return 0;
}
