/* fail_call WHICH FIRST HOW COUNT COMMAND...: runs COMMAND and lets system calls of Refrain fail in it.

   WHICH  files: what makes, fills and renames files (pwrite, mkdir, rename, open with O_CREAT); memory: pages (mmap and
          mprotect as platform/pages.hpp does them, mremap)
   FIRST  the first call that fails, counted from 1; 0: none
   HOW    the errno value; behind it a + when all later ones fail, too; 0: the call hangs for ever
   COUNT  a file that receives how many such calls there were

   Ends as COMMAND does. By a seccomp filter (seccomp_unotify(2)), so the command does not notice. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, field))
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)
#define ASK BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter files[] = {LOAD(nr),
                                     EQUAL(SYS_pwrite64, 6, 0),
                                     EQUAL(SYS_mkdirat, 5, 0),
                                     EQUAL(SYS_renameat2, 4, 0),
                                     EQUAL(SYS_openat, 0, 2),
                                     LOAD(args[2]),
                                     HAS(O_CREAT, 1, 0),
                                     ALLOW,
                                     ASK};
static struct sock_filter memory[] = {LOAD(nr),
                                      EQUAL(SYS_mremap, 9, 0),
                                      EQUAL(SYS_mprotect, 5, 0),
                                      EQUAL(SYS_mmap, 0, 6),
                                      LOAD(args[2]),
                                      EQUAL(PROT_NONE, 0, 4),
                                      LOAD(args[3]),
                                      HAS(MAP_NORESERVE, 3, 2),
                                      LOAD(args[2]),
                                      EQUAL(PROT_READ | PROT_WRITE, 1, 0),
                                      ALLOW,
                                      ASK};

static void fail(const char* what) {
  perror(what);
  exit(125);
}

static void send_descriptor(int socket, int descriptor) {
  char byte = 0, room[CMSG_SPACE(sizeof descriptor)];
  struct iovec data = {&byte, 1};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  if (sendmsg(socket, &message, 0) != 1) fail("sendmsg");
}

static int receive_descriptor(int socket) {
  char byte, room[CMSG_SPACE(sizeof(int))];
  struct iovec data = {&byte, 1};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  int descriptor;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message)) fail("recvmsg");
  memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
  return descriptor;
}

/* Whether the memory at this address of a process is Refrain's: nothing else there is mapped without huge pages
   ("nh"). */
static int is_ours(pid_t process, unsigned long long address) {
  char name[64], line[512];
  snprintf(name, sizeof name, "/proc/%d/smaps", (int)process);
  FILE* maps = fopen(name, "r");
  int there = 0, ours = 0;
  while (maps && !ours && fgets(line, sizeof line, maps)) {
    unsigned long long from, to;
    if (sscanf(line, "%llx-%llx ", &from, &to) == 2) there = from <= address && address < to;
    else if (there && strncmp(line, "VmFlags:", 8) == 0) ours = strstr(line, " nh") != NULL;
  }
  if (maps) fclose(maps);
  return ours;
}

int main(int argc, char** argv) {
  if (argc < 6) return fprintf(stderr, "usage: fail_call WHICH FIRST HOW COUNT COMMAND...\n"), 125;
  const int of_files = strcmp(argv[1], "files") == 0;
  const long first = atol(argv[2]);
  const int how = atoi(argv[3]), ever = strchr(argv[3], '+') != NULL;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) fail("socketpair");
  const pid_t child = fork();
  if (child == 0) {
    struct sock_fprog program = {of_files ? sizeof files / sizeof *files : sizeof memory / sizeof *memory,
                                 of_files ? files : memory};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("prctl");
    const int listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (listener < 0) fail("seccomp");
    send_descriptor(pair[0], listener);
    close(listener);
    execvp(argv[5], argv + 5);
    fail(argv[5]);
  }
  const int listener = receive_descriptor(pair[1]);
  long calls = 0;
  int status = 0;
  for (;;) {
    struct pollfd ready = {listener, POLLIN, 0};
    if (poll(&ready, 1, 20) <= 0 || !(ready.revents & POLLIN)) {
      if (waitpid(child, &status, WNOHANG) == child) break;
      continue;
    }
    struct seccomp_notif call = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;
    const int counts = call.data.nr != SYS_mprotect || is_ours((pid_t)call.pid, call.data.args[0]);
    calls += counts;
    struct seccomp_notif_resp answer = {.id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    if (counts && first > 0 && (calls == first || (ever && calls > first))) {
      if (how == 0) continue;
      answer.flags = 0;
      answer.error = -how;
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
  FILE* count = fopen(argv[4], "w");
  if (count) fprintf(count, "%ld\n", calls), fclose(count);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  return 125;
}
