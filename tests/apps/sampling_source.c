/* What makes the samples: programs that keep their own books, and that get in its way.
 *
 *   sampling_source phases ROUNDS
 *       each round sleeps for 0.7 ms and spends 0.1, 0.3 and 0.6 ms in tenth(), third() and rest()
 *   sampling_source close SECONDS
 *       closes all descriptors, opens files on all numbers, spends CPU time, looks at the files
 *   sampling_source disable SECONDS
 *       disables all events that the thread has opened, and spends CPU time in work()
 *   sampling_source threads N
 *       allows itself 24 descriptors; N threads at once, each 0.3 s of CPU time in work()
 *   sampling_source blocked SECONDS
 *       spends CPU time in work() with all signals blocked, and then without
 *   sampling_source kernel SECONDS
 *       spends CPU time in one call of the kernel after the other, each some 30 ms, in reading(), and half in work()
 *   sampling_source deny COMMAND...
 *       runs the command without perf_event_open, as in a container
 *
 * stdout: CPU seconds, in the order of the names above; "close" prints "intact".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#define PATH __attribute__((noinline, noclone))
static __thread volatile double sink;
static inline __attribute__((always_inline)) double spend(double s) {
  const double begin = cpu();
  double now;
  do {
    for (int i = 0; i < 2000; ++i) sink += i;
    now = cpu();
  } while (now < begin + s);
  return now - begin;
}
PATH static double tenth(void) { return spend(1e-4); }
PATH static double third(void) { return spend(3e-4); }
PATH static double rest(void) { return spend(6e-4); }
PATH static double work(double s) { return spend(s); }

static int phases(int rounds) {
  double used[3] = {0, 0, 0};
  for (int i = 0; i < rounds; ++i) {
    nanosleep(&(struct timespec){0, 700000}, NULL);
    used[0] += tenth();
    used[1] += third();
    used[2] += rest();
  }
  printf("%.6f %.6f %.6f\n", used[0], used[1], used[2]);
  return 0;
}

static int disable(double seconds) {
  if (prctl(PR_TASK_PERF_EVENTS_DISABLE) != 0) return 2;
  printf("%.6f\n", work(seconds));
  return 0;
}

static int close_all(double seconds) {
  work(0.1);
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  const int end = limit.rlim_cur < 5000 ? (int)limit.rlim_cur : 5000;
  for (int fd = 3; fd < end; ++fd) close(fd);
  const int source = memfd_create("file", 0);
  if (source < 0 || write(source, "0123456789", 10) != 10) return 2;
  lseek(source, 0, SEEK_SET);
  int opened = 0;
  for (int fd = source + 1; fd < end; ++fd) opened += dup2(source, fd) == fd;
  work(seconds);
  int bad = lseek(source, 0, SEEK_CUR) != 0; /* all share one offset: a read by anybody moves it */
  for (int fd = source + 1; fd < end; ++fd) bad += fcntl(fd, F_GETFD) != 0 || (fcntl(fd, F_GETFL) & O_ASYNC);
  puts(bad == 0 && opened == end - source - 1 ? "intact" : "harmed");
  return 0;
}

static pthread_barrier_t together;
static void* worker(void* unused) {
  pthread_barrier_wait(&together);
  work(0.3);
  return unused;
}
static int threads(int n) {
  pthread_t t[256];
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){24, 24});
  pthread_barrier_init(&together, NULL, (unsigned)n);
  for (int i = 0; i < n; ++i)
    if (pthread_create(&t[i], NULL, worker, NULL)) return 2;
  for (int i = 0; i < n; ++i) pthread_join(t[i], NULL);
  return 0;
}

static int blocked(double seconds) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const double held = work(seconds);
  sigprocmask(SIG_SETMASK, &before, NULL);
  const double open = work(seconds);
  sigprocmask(SIG_BLOCK, &all, NULL);
  printf("%.6f %.6f\n", held + work(seconds), open);
  return 0;
}

PATH static double reading(void* memory, size_t size) {
  const double begin = cpu();
  int zero = open("/dev/zero", O_RDONLY);
  if (zero < 0 || read(zero, memory, size) != (ssize_t)size) exit(2);
  close(zero);
  return cpu() - begin;
}
static int kernel(double seconds) {
  const size_t size = (size_t)256 << 20;
  void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  double in_kernel = 0, in_work = 0;
  while (in_kernel < seconds) {
    const double now = reading(memory, size);
    in_kernel += now;
    in_work += work(now / 2);
  }
  printf("%.6f %.6f\n", in_kernel, in_work);
  return 0;
}

static int deny(char** command) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 3;
  execvp(command[0], command);
  return 127;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (!strcmp(argv[1], "phases")) return phases(atoi(argv[2]));
  if (!strcmp(argv[1], "close")) return close_all(atof(argv[2]));
  if (!strcmp(argv[1], "disable")) return disable(atof(argv[2]));
  if (!strcmp(argv[1], "threads")) return threads(atoi(argv[2]));
  if (!strcmp(argv[1], "blocked")) return blocked(atof(argv[2]));
  if (!strcmp(argv[1], "kernel")) return kernel(atof(argv[2]));
  if (!strcmp(argv[1], "deny")) return deny(argv + 2);
  return 2;
}
