/* What does the sampling handler call? This program storms malloc, dlopen and new threads while it is sampled. It wraps
 * the handlers of SIGURG and all real-time signals that it finds installed at its start, by the system call itself so
 * that nobody notices, and defines malloc, locks and the loader's functions: one of them called while a wrapped handler
 * runs is reported and ends the program with status 99.
 *
 *   faults_handler_calls PLUGIN SECONDS     of CPU time
 *
 * stdout: "clean", whatever was wrapped. stderr: "handlers H calls C", H wrapped handlers that were entered C times; a
 * test that sees H = 0 or few calls knows that it has shown nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static __thread int in_handler __attribute__((tls_model("initial-exec")));
static atomic_long handler_calls;

static void forbidden(const char* name) {
  if (!in_handler) return;
  char line[128] = "the sampling handler called ";
  strcat(line, name);
  strcat(line, "\n");
  if (write(2, line, strlen(line)) < 0) _exit(98);
  _exit(99);
}

/* ---- the definitions that everybody in this process uses ---- */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

void* malloc(size_t n) {
  forbidden("malloc");
  return __libc_malloc(n);
}
void* calloc(size_t n, size_t m) {
  forbidden("calloc");
  return __libc_calloc(n, m);
}
void* realloc(void* p, size_t n) {
  forbidden("realloc");
  return __libc_realloc(p, n);
}
void* memalign(size_t a, size_t n) {
  forbidden("memalign");
  return __libc_memalign(a, n);
}
void* aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
int posix_memalign(void** p, size_t a, size_t n) {
  *p = memalign(a, n);
  return *p ? 0 : ENOMEM;
}
void free(void* p) {
  forbidden("free");
  __libc_free(p);
}

#define FORWARD(result, name, parameters, arguments)           \
  result name parameters {                                     \
    static _Atomic(void*) next;                                \
    forbidden(#name);                                          \
    if (!next) next = dlvsym(RTLD_NEXT, #name, "GLIBC_2.34");  \
    if (!next) next = dlvsym(RTLD_NEXT, #name, "GLIBC_2.2.5"); \
    return ((result(*) parameters)next)arguments;              \
  }
FORWARD(int, pthread_mutex_lock, (pthread_mutex_t * m), (m))
FORWARD(int, pthread_mutex_unlock, (pthread_mutex_t * m), (m))
FORWARD(int, pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l))
FORWARD(int, dl_iterate_phdr, (int (*f)(struct dl_phdr_info*, size_t, void*), void* d), (f, d))
FORWARD(void*, dlopen, (const char* f, int m), (f, m))
FORWARD(int, dladdr, (const void* a, Dl_info* i), (a, i))

/* ---- wrapping of the handlers ---- */

struct kernel_action {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};
static void (*original[65])(int, siginfo_t*, void*);
static volatile sig_atomic_t entered[65];

static void wrapper(int signal, siginfo_t* info, void* context) {
  ++in_handler;
  atomic_fetch_add(&handler_calls, 1);
  entered[signal] = 1; /* others only stand by for the end of the process */
  original[signal](signal, info, context);
  --in_handler;
}

static void wrap_handlers(void) {
  for (int s = SIGURG; s <= 64; s = s == SIGURG ? 34 : s + 1) {
    struct kernel_action action;
    if (syscall(SYS_rt_sigaction, s, NULL, &action, 8) || (unsigned long)action.handler < 2) continue;
    original[s] = action.handler;
    action.handler = wrapper;
    syscall(SYS_rt_sigaction, s, &action, NULL, 8);
  }
}

/* ---- the storm ---- */

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static atomic_int stop;

static void* storm(void* seed) {
  void* kept[64] = {0};
  unsigned long random = (unsigned long)seed;
  while (!atomic_load(&stop)) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    unsigned slot = random >> 33 & 63;
    free(kept[slot]);
    kept[slot] = malloc(16 + (random >> 40 & 4095));
  }
  for (int i = 0; i < 64; ++i) free(kept[i]);
  return NULL;
}

static void* short_life(void* unused) { /* long enough for the thread's first samples */
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < 0.03) free(malloc(100));
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  wrap_handlers();
  double end = seconds(CLOCK_PROCESS_CPUTIME_ID) + atof(argv[2]);
  pthread_t stormer;
  pthread_create(&stormer, NULL, storm, (void*)1);
  while (seconds(CLOCK_PROCESS_CPUTIME_ID) < end) {
    pthread_t thread;
    pthread_create(&thread, NULL, short_life, NULL);
    for (int i = 0; i < 20; ++i) {
      void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
      if (!plugin) return 3;
      double (*work)(double) = (double (*)(double))dlsym(plugin, "plugin_work");
      if (!work || work(1e5) <= 0) return 4;
      dlclose(plugin);
    }
    pthread_join(thread, NULL);
  }
  atomic_store(&stop, 1);
  pthread_join(stormer, NULL);
  int handlers = 0;
  for (int s = 1; s < 65; ++s) handlers += entered[s];
  fprintf(stderr, "handlers %d calls %ld\n", handlers, atomic_load(&handler_calls));
  puts("clean");
  return 0;
}
