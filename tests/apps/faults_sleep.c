/* Every blocking call that a timer signal could cut short, after a little CPU time so that timers are armed and due.
 * Prints, per call: how often it was called, returned EINTR, and returned before its time. Without a tool: no EINTR and
 * nothing short. A second thread computes all the while.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static atomic_int stop;
static volatile double sink;
static void burn(double s) {
  double end = seconds(CLOCK_THREAD_CPUTIME_ID) + s;
  static __thread volatile double own;
  do
    for (int i = 0; i < 2000; ++i) own += i;
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < end);
}
static void* compute(void* unused) {
  while (!atomic_load(&stop)) burn(0.01);
  return unused;
}

static sem_t semaphore;
static int set, epoll, sockets[2];

static struct timespec in(double s) { return (struct timespec){(time_t)s, (long)((s - (double)(time_t)s) * 1e9)}; }
static struct timespec at(double s) {
  double t = seconds(CLOCK_REALTIME) + s;
  return (struct timespec){(time_t)t, (long)((t - (double)(time_t)t) * 1e9)};
}

/* Each returns what the call returned; `s` is how long it should block. */
static int do_nanosleep(double s) { return nanosleep(&(struct timespec[]){in(s)}[0], NULL); }
static int do_clock_nanosleep(double s) {
  errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec[]){in(s)}[0], NULL);
  return errno ? -1 : 0;
}
static int do_usleep(double s) { return usleep((useconds_t)(s * 1e6)); }
static int do_sleep(double s) { return (int)sleep((unsigned)s); }
static int do_poll(double s) { return poll(NULL, 0, (int)(s * 1e3)); }
static int do_select(double s) {
  struct timeval t = {(time_t)s, (suseconds_t)((s - (double)(time_t)s) * 1e6)};
  return select(0, NULL, NULL, NULL, &t);
}
static int do_epoll_wait(double s) {
  struct epoll_event event;
  return epoll_wait(epoll, &event, 1, (int)(s * 1e3));
}
static int do_sem_timedwait(double s) { return sem_timedwait(&semaphore, &(struct timespec[]){at(s)}[0]); }
static int do_semtimedop(double s) {
  struct sembuf down = {0, -1, 0};
  return semtimedop(set, &down, 1, &(struct timespec[]){in(s)}[0]);
}
static int do_sigtimedwait(double s) {
  sigset_t usr2;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  return sigtimedwait(&usr2, NULL, &(struct timespec[]){in(s)}[0]);
}
static int do_recv(double s) {
  struct timeval t = {(time_t)s, (suseconds_t)((s - (double)(time_t)s) * 1e6)};
  char byte;
  setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
  return (int)recv(sockets[0], &byte, 1, 0);
}

static void try(const char* name, int (*call)(double), double s, int times) {
  int interrupted = 0, early = 0, result = 0, error = 0;
  for (int i = 0; i < times; ++i) {
    burn(0.001 + 0.0007 * (i % 7));
    errno = 0;
    double begin = seconds(CLOCK_MONOTONIC), tick = seconds(CLOCK_MONOTONIC_COARSE);
    result = call(s);
    error = errno;
    interrupted += result != 0 && error == EINTR;
    /* Kernel timers of socket and semaphore operations count ticks, and several ticks come at once after a virtual
     * processor stood still: such a call is early only if ticks are missing, too. The others never end early. */
    early += seconds(CLOCK_MONOTONIC) - begin < s - 0.0045 && seconds(CLOCK_MONOTONIC_COARSE) - tick < s - 0.0045;
  }
  printf("%s calls=%d result=%d errno=%d interrupted=%d early=%d\n", name, times, result, error, interrupted, early);
}

int main(void) {
  pthread_t thread;
  sem_init(&semaphore, 0, 0);
  set = semget(IPC_PRIVATE, 1, 0600);
  epoll = epoll_create1(0);
  socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
  pthread_create(&thread, NULL, compute, NULL);
  try("nanosleep", do_nanosleep, 0.006, 60);
  try("clock_nanosleep", do_clock_nanosleep, 0.006, 60);
  try("usleep", do_usleep, 0.006, 60);
  try("sleep", do_sleep, 1, 2);
  try("poll", do_poll, 0.006, 60);
  try("select", do_select, 0.006, 60);
  try("epoll_wait", do_epoll_wait, 0.006, 60);
  try("sem_timedwait", do_sem_timedwait, 0.006, 60);
  try("semtimedop", do_semtimedop, 0.012, 40);
  try("sigtimedwait", do_sigtimedwait, 0.006, 60);
  try("recv", do_recv, 0.012, 40);
  atomic_store(&stop, 1);
  pthread_join(thread, NULL);
  semctl(set, 0, IPC_RMID);
  return 0;
}
