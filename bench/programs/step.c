/* Runs a program and single-steps the code between its breakpoints (int3). Writes to FILE the memory map of the
   process, as in /proc, an empty line, and then for every instruction the number of its pair of breakpoints and the
   registers before it (u64 and struct user_regs_struct). Usage: step FILE PROGRAM
   [ARGUMENT...] */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void copy_map(pid_t child, FILE* out) {
  char name[64], line[4096];
  snprintf(name, sizeof name, "/proc/%d/maps", (int)child);
  FILE* map = fopen(name, "r");
  while (map && fgets(line, sizeof line, map)) fputs(line, out);
  if (map) fclose(map);
  fputc('\n', out);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  FILE* out = fopen(argv[1], "wb");
  if (!out) return 2;
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  int status, stepping = 0;
  uint64_t pair = 0;
  waitpid(child, &status, 0);
  ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
  long signal = 0;
  for (;;) {
    ptrace(stepping ? PTRACE_SINGLESTEP : PTRACE_CONT, child, 0, signal);
    if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status)) break;
    signal = WSTOPSIG(status);
    if (signal != SIGTRAP) continue;  // the program's own signal: passed on
    signal = 0;
    if (status >> 16) continue;  // exec
    siginfo_t info;
    struct user_regs_struct registers;
    ptrace(PTRACE_GETSIGINFO, child, 0, &info);
    ptrace(PTRACE_GETREGS, child, 0, &registers);
    if (info.si_code == SI_KERNEL) {  // a breakpoint
      if (!stepping && pair == 0) copy_map(child, out);
      stepping = !stepping;
      if (!stepping) ++pair;
      if (!stepping) continue;
    }
    fwrite(&pair, sizeof pair, 1, out);
    fwrite(&registers, sizeof registers, 1, out);
  }
  fclose(out);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
