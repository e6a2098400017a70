/* A program that starts others in the way that is named, under load.
 *
 *   processes WAY [COUNT]
 *
 * With MPI (-DWITH_MPI) between MPI_Init and MPI_Finalize, but for those whose name begins with "before_". Children say
 * what they see of the environment that could be Refrain's; the parent waits for each and prints how it ended.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
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

extern char** environ;
static char way[64], self[4096];
static char* const true_arguments[] = {"/bin/true", NULL};

static int is(const char* name) { return strcmp(way, name) == 0; }

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
__attribute__((noinline, noclone)) static void compute(double s) {
  double end = cpu() + s;
  while (cpu() < end)
    for (volatile int i = 0; i < 1000; ++i) {
    }
}

static void say(const char* text) {
  char line[300];
  int n = snprintf(line, sizeof line, "%s\n", text);
  if (write(1, line, (size_t)n) != n) abort();
}
static void say_status(const char* what, int status) {
  char line[200];
  if (WIFEXITED(status)) snprintf(line, sizeof line, "%s: exit %d", what, WEXITSTATUS(status));
  else snprintf(line, sizeof line, "%s: signal %d", what, WTERMSIG(status));
  say(line);
}
static void wait_for(const char* what, pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  say_status(what, status);
}

/* What a forked child sees of signals: those of a process without Refrain. */
static void say_signals(void) {
  char line[200] = "signals:";
  size_t n = strlen(line);
  for (int s = 1; s <= 64; ++s) {
    struct sigaction a;
    if (s == 32 || s == 33 || sigaction(s, NULL, &a)) continue;
    if (a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN) n += (size_t)snprintf(line + n, sizeof line - n, " %d", s);
  }
  say(line);
}

/* And what the kernel has: handlers that were not given back would show here. */
static void say_caught(void) {
  char text[4096];
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(text, sizeof text, status))
    if (!strncmp(text, "SigCgt", 6)) {
      text[strcspn(text, "\n")] = 0;
      say(text);
    }
  if (status) fclose(status);
}

static void child_goes_on(void) {
  for (int i = 0; i < 6; ++i) compute(0.05);
}

static void on_signal(int s) { (void)s; }

static void* nothing(void* unused) {
  compute(0.01);
  return unused;
}
static volatile int stop;
static void* busy(void* unused) {
  while (!stop) compute(0.01);
  return unused;
}

static void say_signals_of_parent(void) {
  struct sigaction a;
  say(sigaction(SIGTERM, NULL, &a) == 0 && a.sa_handler == SIG_DFL ? "default as before" : "changed by a child");
}

static int raw_child(void* unused) {
  (void)unused;
  _exit(21);
}

/* The child has this thread alone, which ends without exit(). */
static void* fork_and_end_as_thread(void* unused) {
  compute(0.02);
  pid_t child = fork();
  if (child == 0) {
    compute(0.02);
    pthread_exit(NULL);
  }
  wait_for("fork_in_thread", child);
  return unused;
}

static void run(int count) {
  if (is("fork_exit") || is("fork__exit") || is("fork_quick") || is("fork_thread") || is("fork_exec") ||
      is("fork_signals") || is("fork_term")) {
    for (int i = 0; i < count; ++i) {
      pid_t child = fork();
      if (child == 0) {
        if (is("fork_signals")) {
          say_signals();
          say_caught();
          _exit(0);
        }
        if (is("fork_exec"))
          execl("/bin/sh", "sh", "-c", "env | grep -c -e ^REFRAIN_INTERNAL -e ^LD_PRELOAD=.*refrain; exit 17", NULL);
        if (is("fork_thread")) {
          pthread_t t;
          pthread_create(&t, NULL, nothing, NULL);
          pthread_join(t, NULL);
        }
        child_goes_on();
        say("child");
        if (is("fork_term")) raise(SIGTERM);
        if (is("fork__exit")) _exit(12);
        if (is("fork_quick")) quick_exit(13);
        exit(11);
      }
      wait_for(way, child);
    }
  }
  if (is("fork_threaded")) {
    pthread_t t[2];
    for (int i = 0; i < 2; ++i) pthread_create(&t[i], NULL, busy, NULL);
    for (int i = 0; i < count; ++i) {
      pid_t child = fork();
      if (child == 0) {
        compute(0.02);
        exit(11);
      }
      wait_for(way, child);
    }
    stop = 1;
    for (int i = 0; i < 2; ++i) pthread_join(t[i], NULL);
  }
  if (is("fork_large")) { /* the kernel copies page tables for longer than the time between two ticks */
    const size_t size = (size_t)1 << 30;
    char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, size, MADV_NOHUGEPAGE)) abort();
    memset(memory, 1, size);
    double longest = 0;
    for (int i = 0; i < count; ++i) {
      double begin = cpu();
      pid_t child = fork();
      if (child == 0) _exit(memory[size - 1] == 1 ? 22 : 1);
      double took = cpu() - begin;
      if (took > longest) longest = took;
      wait_for(way, child);
    }
    say(longest > 0.008 ? "longer than two ticks" : "too short");
    munmap(memory, size);
  }
  if (is("fork_in_thread")) {
    pthread_t t;
    pthread_create(&t, NULL, fork_and_end_as_thread, NULL);
    pthread_join(t, NULL);
  }
  if (is("raw_fork")) { /* libc's handlers of fork do not run */
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
      compute(0.2);
      _exit(14);
    }
    wait_for(way, child);
  }
  if (is("clone_vm")) {
    static char stack[65536] __attribute__((aligned(16)));
    pid_t child = clone(raw_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    wait_for(way, child);
  }
  if (is("vfork"))
    for (int i = 0; i < count; ++i) {
      pid_t child = vfork();
      if (child == 0) {
        signal(SIGTERM, SIG_IGN); /* of the child alone */
        if (i % 2) execv("/bin/true", true_arguments);
        _exit(15);
      }
      wait_for(way, child);
    }
  if (is("vfork")) say_signals_of_parent();
  if (is("vfork_kill")) {
    pid_t child = vfork();
    if (child == 0) {
      kill(getpid(), SIGTERM);
      _exit(1);
    }
    wait_for(way, child);
  }
  if (is("spawn"))
    for (int i = 0; i < count; ++i) {
      pid_t child;
      char* const arguments[] = {
          "sh", "-c", "echo spawned; env | grep -c -e ^REFRAIN_INTERNAL -e ^LD_PRELOAD=.*refrain; exit 16", NULL};
      if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ)) abort();
      wait_for(way, child);
    }
  if (is("system"))
    for (int i = 0; i < count; ++i)
      say_status(way, system("echo from a shell; python3 -c 'print(1 + 1)'; /bin/true; exit 18"));
  if (is("popen"))
    for (int i = 0; i < count; ++i) {
      FILE* pipe = popen("echo through a pipe; exit 19", "r");
      char line[100] = "";
      if (pipe && fgets(line, sizeof line, pipe)) line[strcspn(line, "\n")] = 0;
      say(line);
      say_status(way, pclose(pipe));
    }
  if (is("exec_children")) { /* children that exec while their own timers run cannot be: they have none */
    for (int i = 0; i < count; ++i) {
      pid_t child = fork();
      if (child == 0) {
        compute(0.001);
        execv("/bin/true", true_arguments);
        _exit(1);
      }
      int status = 0;
      while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      if (status) say_status("a child", status);
    }
    say("all executed");
  }
  if (is("close_all")) {
    for (int fd = 3; fd < 1024; ++fd) close(fd);
    if (getenv("CLOSE_STDERR")) close(2);
    int fds[64], many = 0, n;
    char name[40];
    for (; many < 64; ++many) {
      snprintf(name, sizeof name, "file-%d", many);
      fds[many] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0666);
    }
    signal(SIGTERM, on_signal);
    for (int round = 0; round < 10; ++round) {
      compute(0.02);
      raise(SIGTERM); /* a reason to write what was measured */
      for (int i = 0; i < many; ++i) {
        n = snprintf(name, sizeof name, "%d of %d\n", round, i);
        if (write(fds[i], name, (size_t)n) != n) abort();
      }
    }
    say("files written");
  }
}

int main(int argc, char** argv) {
  snprintf(way, sizeof way, "%s", argc > 1 ? argv[1] : "");
  int count = argc > 2 ? atoi(argv[2]) : 1;
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) abort();
  if (is("before_exec") || is("exec_self")) { /* in place; with sampling at work */
    if (count > 0) {
      compute(0.012); /* a few ticks */
      char rest[20];
      snprintf(rest, sizeof rest, "%d", count - 1);
      execl(argc > 3 ? argv[3] : self, "again", is("before_exec") ? "fork_exit" : way, rest, NULL);
      abort();
    }
    say("the last one");
    return 20;
  }
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
#endif
  compute(0.05);
  run(count);
  compute(0.05);
  say("parent");
#ifdef WITH_MPI
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
#endif
  return 0;
}
