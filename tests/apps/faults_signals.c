/* A program that owns its signals.
 *
 *   faults_signals nothing|replace|block|replace_and_block|ignore|reset
 *
 * First the disposition of every signal and the mask are printed, as the program sees them: those of a fresh process.
 * Then SIGURG and all real-time signals are taken in the way that is named, CPU time is spent, the program's handler is
 * proven to run once per raise and never else, and the dispositions are printed again.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* What a tool may take: real-time signals and SIGURG. */
#define FOR_EACH_FREE(s) for (int s = SIGURG; s <= SIGRTMAX; s = s == SIGURG ? SIGRTMIN : s + 1)

static volatile sig_atomic_t handled[65];
static void handler(int signal) { handled[signal]++; }

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static volatile double sink;
__attribute__((noinline, noclone)) static void work(double s) {
  double end = cpu() + s;
  do
    for (int i = 0; i < 5000; ++i) sink += i;
  while (cpu() < end);
}

static void print_signals(const char* when) {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  printf("%s:", when);
  for (int s = 1; s <= 64; ++s) {
    struct sigaction a;
    if (s == 32 || s == 33 || sigaction(s, NULL, &a)) continue; /* glibc's own */
    printf(" %d%c%c", s,
           a.sa_handler == SIG_DFL   ? 'd'
           : a.sa_handler == SIG_IGN ? 'i'
           : a.sa_handler == handler ? 'h'
                                     : '?',
           sigismember(&mask, s) == 1 ? 'b' : '-');
  }
  puts("");
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "nothing";
  sigset_t all;
  sigfillset(&all);
  print_signals("at start");
  work(0.2);
  int replace = !strncmp(how, "replace", 7), block = strstr(how, "block") != NULL;
  FOR_EACH_FREE(s) {
    if (replace) {
      struct sigaction a = {.sa_handler = handler};
      sigaction(s, &a, NULL);
    }
    if (!strcmp(how, "ignore")) signal(s, SIG_IGN);
  }
  if (!strcmp(how, "reset"))
    for (int s = 1; s <= 64; ++s)
      if (s != SIGKILL && s != SIGSTOP) signal(s, SIG_DFL);
  if (block) sigprocmask(SIG_BLOCK, &all, NULL);
  work(0.4);
  if (replace || !strcmp(how, "ignore")) FOR_EACH_FREE(s) raise(s);
  work(0.1);
  if (block) {
    print_signals("blocked");
    sigprocmask(SIG_UNBLOCK, &all, NULL);
  }
  work(0.3);
  printf("handled:");
  FOR_EACH_FREE(s) printf(" %d", (int)handled[s]);
  puts("");
  print_signals("at end");
  return 5;
}
