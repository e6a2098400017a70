/// What a program finds when it starts, and what it does to itself before it ends. The first argument says what:
///   stack        looks for the auxiliary vector behind the environment, by main's third argument and behind the
///   arguments, and
///                for traces of Refrain in both
///   again HOW    becomes itself once, by the exec function HOW, and works
///   other FILE   works and becomes FILE
///   root DIR     works, changes its root, and works
///   daemon       forks a process that goes on for two seconds
///   spawn        spawns one process of itself
///   user         works, gives up root, and works
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

extern char** environ;

static void work(double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
}

/// 0: the page size stands in what is behind `environment`, and nothing of Refrain in it.
static int look(char** environment) {
  int traces = 0;
  for (; *environment; ++environment)
    traces += !strncmp(*environment, "REFRAIN_INTERNAL", 16) ||
              (!strncmp(*environment, "LD_PRELOAD=", 11) && strstr(*environment, "refrain"));
  for (const ElfW(auxv_t)* entry = (const ElfW(auxv_t)*)(environment + 1); entry->a_type != AT_NULL; ++entry)
    if (entry->a_type == AT_PAGESZ && entry->a_un.a_val == getauxval(AT_PAGESZ)) return traces;
  return 100;
}

static int again(const char* how, char** arguments) {
  const char *self = "/proc/self/exe", *name = arguments[0];
  setenv("AGAIN", "1", 1);
  if (!strcmp(how, "execve")) execve(self, arguments, environ);
  if (!strcmp(how, "execv")) execv(self, arguments);
  if (!strcmp(how, "execvp")) execvp(name, arguments);
  if (!strcmp(how, "execvpe")) execvpe(name, arguments, environ);
  if (!strcmp(how, "execl")) execl(self, name, "again", how, (char*)NULL);
  if (!strcmp(how, "execlp")) execlp(name, name, "again", how, (char*)NULL);
  if (!strcmp(how, "execle")) execle(self, name, "again", how, (char*)NULL, environ);
  if (!strcmp(how, "fexecve")) fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environ);
  perror(how);
  return 50;
}

int main(int argc, char** argv, char** environment) {
  const char* what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "stack")) {
    const int by_main = look(environment), behind_arguments = look(argv + argc + 1), by_environ = look(environ);
    printf("%d %d %d\n", by_main, behind_arguments, by_environ);
    return by_main + behind_arguments + by_environ;
  }
  if (!strcmp(what, "again") && !getenv("AGAIN")) return again(argv[2], argv);
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
#endif
#ifdef WITH_MPI
  MPI_Comm children;
  MPI_Comm_get_parent(&children);
  if (!strcmp(what, "spawn") && children == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  if (children != MPI_COMM_NULL) MPI_Comm_disconnect(&children);
#endif
  work(0.15);
  if (!strcmp(what, "other")) execl(argv[2], argv[2], (char*)NULL);
  if (!strcmp(what, "root") && (chroot(argv[2]) || chdir("/"))) perror("chroot");
  if (!strcmp(what, "daemon") && fork() == 0) {
    for (int fd = 0; fd < 3; ++fd) close(fd);
    setsid();
    if (fork() == 0) work(2);
    _exit(0);
  }
  if (!strcmp(what, "user") && (setgroups(0, NULL) || setgid(65534) || setuid(65534))) perror("setuid");
  work(0.15);
#ifdef WITH_MPI
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
#endif
  return 3;
}
