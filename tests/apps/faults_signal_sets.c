/* A program that asks for signals by sets, and keeps its masks.
 *
 *   faults_signal_sets
 * sigset|sigignore|sighold|wait|named|suspend|inherit|on_stack|urgent_wait|urgent_all|urgent_file|vfork
 *
 * What it prints is the same with and without Refrain: what it set, what it asks for, and what it received.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* Those that Refrain may take for itself. */
#define FOR_SIGNALS(s) for (int s = SIGURG; s <= SIGRTMAX; s = s == SIGURG ? SIGRTMIN : s + 1)

static volatile sig_atomic_t handled;
static volatile sig_atomic_t blocked_in_handler;
static void handler(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, NULL, &mask);
  FOR_SIGNALS(s) blocked_in_handler += sigismember(&mask, s) == 1;
  (void)signal;
  ++handled;
}

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static volatile double sink;
__attribute__((noinline, noclone)) void work(double s) {
  double end = cpu() + s;
  do
    for (int i = 0; i < 5000; ++i) sink += i;
  while (cpu() < end);
}
__attribute__((noinline, noclone)) void thread_work(double s) {
  work(s);
  sink += 1;
}

static char kind(sighandler_t h) {
  return h == SIG_DFL ? 'd' : h == SIG_IGN ? 'i' : h == SIG_HOLD ? 'H' : h == SIG_ERR ? 'e' : h == handler ? 'h' : '?';
}
static void print_set(const char* what, const sigset_t* set) {
  printf("%s:", what);
  for (int s = 1; s <= 64; ++s)
    if (sigismember(set, s) == 1) printf(" %d", s);
  puts("");
}
static void print_mask(const char* what) {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, NULL, &mask);
  print_set(what, &mask);
}
static int may_be_set(int s) { return s != SIGKILL && s != SIGSTOP && s != 32 && s != 33; }

static void by_sigset(void) {
  work(0.2);
  for (int s = 1; s <= 64; ++s)
    if (may_be_set(s)) {
      char first = kind(sigset(s, SIG_DFL)), held = kind(sigset(s, SIG_HOLD)), again = kind(sigset(s, SIG_IGN)),
           last = kind(sigset(s, SIG_DFL));
      printf(" %c%c%c%c", first, held, again, last);
    }
  puts("");
  work(0.5);
  print_mask("at end");
}
static void by_sigignore(void) {
  for (int s = 1; s <= 64; ++s)
    if (may_be_set(s)) printf(" %d", sigignore(s));
  FOR_SIGNALS(s) siginterrupt(s, 1);
  for (int s = 1; s <= 64; ++s) {
    struct sigaction a;
    if (may_be_set(s) && !sigaction(s, NULL, &a)) printf(" %c", kind(a.sa_handler));
  }
  puts("");
  work(0.5);
  FOR_SIGNALS(s) raise(s);
  puts("all were ignored");
}
static void by_sighold(void) {
  FOR_SIGNALS(s) sighold(s);
  print_mask("held");
  work(0.1);
  FOR_SIGNALS(s) sigrelse(s);
  print_mask("released");
  work(0.5);
}

static const struct timespec no_time;
static void wait_for_all(void) {
  sigset_t all, pending;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  int fd = signalfd(-1, &all, SFD_NONBLOCK);
  for (int i = 0; i < 10; ++i) {
    work(0.03);
    siginfo_t info;
    struct signalfd_siginfo read_info;
    int received = 0;
    sigpending(&pending);
    print_set("pending", &pending);
    printf("read %zd\n", read(fd, &read_info, sizeof read_info));
    printf("sigtimedwait %d\n", sigtimedwait(&all, &info, &no_time));
    work(0.03);
    kill(getpid(), SIGUSR1);
    sigwait(&all, &received);
    printf("sigwait %d\n", received);
    work(0.03);
    kill(getpid(), SIGUSR2);
    printf("sigwaitinfo %d\n", sigwaitinfo(&all, &info));
  }
  close(fd);
  sigprocmask(SIG_UNBLOCK, &all, NULL);
  work(0.3);
}
static void wait_for_each(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  work(0.1);
  FOR_SIGNALS(s) {
    sigset_t one;
    siginfo_t info = {0};
    union sigval value = {.sival_int = 1000 + s};
    sigemptyset(&one);
    sigaddset(&one, s);
    printf("%d:", sigtimedwait(&one, &info, &no_time));
    sigqueue(getpid(), s, value);
    work(0.01);
    printf("%d", sigwaitinfo(&one, &info));
    printf(":%d ", info.si_value.sival_int);
  }
  puts("");
}

/* Ticks that were held back while signals were blocked must not end waits that unblock them. */
static void wait_with_mask(void) {
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  struct sigaction a = {.sa_handler = handler};
  sigaction(SIGALRM, &a, NULL);
  sigprocmask(SIG_BLOCK, &all, NULL);
  int interrupted = 0, suspended = 0, epoll = epoll_create1(0);
  struct epoll_event event;
  const struct timespec moment = {0, 1000000};
  for (int i = 0; i < 10; ++i) {
    work(0.02);
    interrupted += ppoll(NULL, 0, &moment, &none) < 0;
    work(0.02);
    interrupted += pselect(0, NULL, NULL, NULL, &moment, &none) < 0;
    work(0.02);
    interrupted += epoll_pwait(epoll, &event, 1, 1, &none) < 0;
    work(0.02);
    int before = handled;
    alarm(0);
    ualarm(2000, 0);
    sigsuspend(&none);
    suspended += handled == before + 1;
    while (handled == before) sigsuspend(&none);
  }
  printf("interrupted %d suspended %d blocked %d\n", interrupted, suspended, (int)blocked_in_handler);
  print_mask("after waiting");
}

static void* inheriting(void* argument) {
  (void)argument;
  sigset_t all, before;
  sigfillset(&all);
  print_mask("thread begins");
  thread_work(0.4);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  print_set("before", &before);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  sighold(SIGRTMAX - 2);
  print_mask("set again");
  thread_work(0.4);
  fflush(stdout);
  if (fork() == 0) {
    print_mask("child");
    fflush(stdout);
    _exit(0);
  }
  wait(NULL);
  print_mask("after fork");
  pthread_sigmask(SIG_UNBLOCK, &all, &before);
  print_set("before", &before);
  print_mask("unblocked");
  return NULL;
}
static void inherit(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_t thread;
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_create(&thread, NULL, inheriting, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_join(thread, NULL);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setsigmask_np(&attributes, &all);
  pthread_create(&thread, &attributes, inheriting, NULL);
  pthread_join(thread, NULL);
  print_mask("main");
}

static void on_stack(void) {
  for (int s = 1; s <= 64; ++s) {
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK}, old;
    if (!may_be_set(s) || s > 31) continue;
    sigaddset(&a.sa_mask, SIGUSR2);
    sigaction(s, &a, NULL);
    sigaction(s, NULL, &old);
    print_set("mask", &old.sa_mask);
    sigfillset(&a.sa_mask);
    sigaction(s, &a, &old);
    print_set("mask", &old.sa_mask);
    a.sa_handler = SIG_DFL;
    sigaction(s, &a, &old);
    print_set("mask", &old.sa_mask);
  }
}

/* Out-of-band data of a socket: the kernel sends SIGURG to the process, which has it blocked and waits for it, while a
 * thread runs that began with all signals blocked. */
static void* thread_works(void* argument) {
  (void)argument;
  thread_work(0.5);
  return NULL;
}
static void urgent(const sigset_t* waited_for, int by_file) {
  int listener = socket(AF_INET, SOCK_STREAM, 0), sender = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (bind(listener, (struct sockaddr*)&address, size) || listen(listener, 1) ||
      getsockname(listener, (struct sockaddr*)&address, &size) || connect(sender, (struct sockaddr*)&address, size))
    return;
  int receiver = accept(listener, NULL, NULL);
  fcntl(receiver, F_SETOWN, getpid());
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, thread_works, NULL);
  int file = by_file ? signalfd(-1, waited_for, SFD_NONBLOCK) : -1, received = 0, more = 0;
  for (int i = 0; i < 5; ++i) {
    work(0.05);
    send(sender, "x", 1, MSG_OOB);
    work(0.01);
    char byte;
    struct signalfd_siginfo info;
    const struct timespec patience = {2, 0};
    struct pollfd readable = {.fd = file, .events = POLLIN};
    if (!by_file) received += sigtimedwait(waited_for, NULL, &patience) == SIGURG;
    else if (poll(&readable, 1, 2000) == 1)
      received += read(file, &info, sizeof info) == sizeof info && info.ssi_signo == SIGURG;
    recv(receiver, &byte, 1, MSG_OOB);
  }
  work(0.1);
  while (sigtimedwait(waited_for, NULL, &no_time) == SIGURG && more < 100) ++more;
  pthread_join(thread, NULL);
  printf("received %d of 5, and %d more\n", received, more);
}

/* Between vfork and exec a child shares the memory of its parent, but not its actions. */
static void by_vfork(void) {
  struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK}, old;
  sigaddset(&a.sa_mask, SIGUSR2);
  sigaction(SIGUSR1, &a, NULL);
  pid_t child = vfork();
  if (child == 0) {
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigaction(SIGUSR1, &by_default, NULL);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  sigaction(SIGUSR1, NULL, &old);
  print_set("mask", &old.sa_mask);
  work(0.2);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  if (!strcmp(how, "sigset")) by_sigset();
  else if (!strcmp(how, "sigignore")) by_sigignore();
  else if (!strcmp(how, "sighold")) by_sighold();
  else if (!strcmp(how, "wait")) wait_for_all();
  else if (!strcmp(how, "named")) wait_for_each();
  else if (!strcmp(how, "suspend")) wait_with_mask();
  else if (!strcmp(how, "inherit")) inherit();
  else if (!strcmp(how, "on_stack")) on_stack();
  else if (!strcmp(how, "vfork")) by_vfork();
  else if (!strncmp(how, "urgent", 6)) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    if (!strcmp(how, "urgent_all")) sigfillset(&set);
    urgent(&set, !strcmp(how, "urgent_file"));
  } else return 2;
  return 5;
}
