/* Runs a program and single-steps the code between its breakpoints (int3). Writes to FILE the memory map of the
   process as in /proc, an empty line, and then for every instruction the number of its pair of breakpoints and the
   registers before it (u64 and struct user_regs_struct). Usage: step FILE PROGRAM [ARGUMENT...]

   A stepped thread loses its processor at each instruction, and the kernel then clears the field rseq_cs in the
   thread's structure of restartable sequences. Refrain would notice this (platform/switch_watch.hpp) and read its
   clocks again and again. So while the program is stepped, its accesses to the field go to another word, which is
   cleared only for signals, as the field of a thread that keeps its processor. */
#include <linux/rseq.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Writes the memory map to `out` and returns the end of the first thread's stack. */
static uint64_t copy_map(pid_t child, FILE* out) {
  char name[64], line[4096];
  unsigned long end = 0;
  snprintf(name, sizeof name, "/proc/%d/maps", (int)child);
  FILE* map = fopen(name, "r");
  while (map && fgets(line, sizeof line, map)) {
    if (strstr(line, "[stack]")) sscanf(line, "%*x-%lx", &end);
    fputs(line, out);
  }
  if (map) fclose(map);
  fputc('\n', out);
  return end;
}

/* The addresses of the field rseq_cs and of its substitute, the last word of the stack, which is unused. */
struct watch {
  uint64_t field, substitute;
};

static struct watch watch_of(pid_t child, uint64_t end_of_stack) {
  struct watch watch = {0, 0};
  struct __ptrace_rseq_configuration found;
  if (end_of_stack && ptrace(PTRACE_GET_RSEQ_CONFIGURATION, child, (void*)sizeof found, &found) > 0 &&
      found.rseq_abi_pointer) {
    watch.field = found.rseq_abi_pointer + offsetof(struct rseq, rseq_cs);
    watch.substitute = end_of_stack - sizeof watch.substitute;
  }
  return watch;
}

/* Called before stepping. Copies the value of the field to the substitute as if the thread had kept its processor since
   Refrain read the field last. */
static void begin_watch(pid_t child, const struct watch* watch) {
  static long flag;
  if (!watch->field) return;
  const long found = ptrace(PTRACE_PEEKDATA, child, (void*)watch->field, NULL);
  if (found != 0) flag = found;  // 0: the thread has lost its processor just now
  ptrace(PTRACE_POKEDATA, child, (void*)watch->substitute, (void*)flag);
}

static void end_watch(pid_t child, const struct watch* watch) {
  if (watch->field) ptrace(PTRACE_POKEDATA, child, (void*)watch->substitute, NULL);
}

/* Replaces the address `from` with `to` in all registers. Returns 1 if a register contained it. */
static int replace(struct user_regs_struct* registers, uint64_t from, uint64_t to) {
  int found = 0;
  unsigned long long* each = (unsigned long long*)registers;
  for (size_t i = 0; from != 0 && i < sizeof *registers / sizeof *each; ++i)
    if (each[i] == from) {
      each[i] = to;
      found = 1;
    }
  return found;
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
  struct watch watch = {0, 0};
  waitpid(child, &status, 0);
  ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
  long signal = 0;
  for (;;) {
    ptrace(stepping ? PTRACE_SINGLESTEP : PTRACE_CONT, child, 0, signal);
    if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status)) break;
    signal = WSTOPSIG(status);
    if (signal != SIGTRAP) {  // a signal of the program, which gets it
      if (stepping) end_watch(child, &watch);
      continue;
    }
    signal = 0;
    if (status >> 16) continue;  // exec
    siginfo_t info;
    struct user_regs_struct registers;
    ptrace(PTRACE_GETSIGINFO, child, 0, &info);
    ptrace(PTRACE_GETREGS, child, 0, &registers);
    if (info.si_code == SI_KERNEL) {  // a breakpoint
      if (!stepping && pair == 0) watch = watch_of(child, copy_map(child, out));
      stepping = !stepping;
      if (!stepping) ++pair;
      if (!stepping) continue;
      begin_watch(child, &watch);
    }
    struct user_regs_struct as_if = registers;
    replace(&as_if, watch.substitute, watch.field);
    fwrite(&pair, sizeof pair, 1, out);
    fwrite(&as_if, sizeof as_if, 1, out);
    if (replace(&registers, watch.field, watch.substitute)) ptrace(PTRACE_SETREGS, child, 0, &registers);
  }
  fclose(out);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
