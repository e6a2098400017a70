/// The runtime's own functions with names of the C library, so that it never calls a function of the program by
/// mistake: bash exports an `unsetenv` that leaves the environment alone, a program in ISO C may name its own function
/// `read` or `clone`, and a tool may make `clock_gettime` tell another time. They are hidden, so the linker binds the
/// runtime's calls to them (own_functions.def has the list, docs/async-safety.md the rule).
///
/// Contracts are those of the C library, except that no function is a cancellation point. All are async-signal-safe.

#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "platform/system_call.h"

// ---- errno ----------------------------------------------------------------------------------------------------------

int* refrain_errno_of_libc(void);
__asm__(".symver refrain_errno_of_libc,__errno_location@GLIBC_2.2.5");
extern uintptr_t refrain_helper_stack[2];  // platform/helper_thread.cpp

/// A helper thread shares the thread-local variables of its maker, whose signal handlers may read errno meanwhile. So
/// on the helper's stack errno is another variable.
int* __errno_location(void) {
  static int of_helper;
  const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  return here - refrain_helper_stack[0] < refrain_helper_stack[1] - refrain_helper_stack[0] ? &of_helper
                                                                                            : refrain_errno_of_libc();
}

// ---- system calls ---------------------------------------------------------------------------------------------------

static long with_errno(long result) {
  if (result < 0 && result >= -4095) {
    errno = (int)-result;
    return -1;
  }
  return result;
}

#define KERNEL(number, a, b, c, d, e, f) \
  with_errno(refrain_system_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)))

long syscall(long number, ...) {
  va_list list;
  long argument[6];
  va_start(list, number);
  for (int i = 0; i < 6; ++i) argument[i] = va_arg(list, long);
  va_end(list);
  return KERNEL(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

/// Never returns 0, 1 or 2: the program may have closed these and still write to them.
int refrain_above_standard(int descriptor) {
  if (descriptor < 0 || descriptor > 2) return descriptor;
  const int higher = (int)KERNEL(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, 3, 0, 0, 0);
  const int error = errno;
  KERNEL(SYS_close, descriptor, 0, 0, 0, 0, 0);
  errno = error;
  return higher;
}

/// Close-on-exec, whatever the flags say, if it would have been one of the standard descriptors.
int openat(int directory, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  return refrain_above_standard((int)KERNEL(SYS_openat, directory, path, flags, mode, 0, 0));
}
int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  return openat(AT_FDCWD, path, flags, mode);
}

int fcntl(int descriptor, int command, ...) {
  va_list list;
  va_start(list, command);
  const long argument = va_arg(list, long);
  va_end(list);
  return (int)KERNEL(SYS_fcntl, descriptor, command, argument, 0, 0, 0);
}

int prctl(int option, ...) {
  va_list list;
  long argument[4];
  va_start(list, option);
  for (int i = 0; i < 4; ++i) argument[i] = va_arg(list, long);
  va_end(list);
  return (int)KERNEL(SYS_prctl, option, argument[0], argument[1], argument[2], argument[3], 0);
}

int close(int descriptor) { return (int)KERNEL(SYS_close, descriptor, 0, 0, 0, 0, 0); }
ssize_t read(int descriptor, void* out, size_t size) { return KERNEL(SYS_read, descriptor, out, size, 0, 0, 0); }
ssize_t write(int descriptor, const void* data, size_t size) {
  return KERNEL(SYS_write, descriptor, data, size, 0, 0, 0);
}
int ftruncate(int descriptor, off_t size) { return (int)KERNEL(SYS_ftruncate, descriptor, size, 0, 0, 0, 0); }
ssize_t pwrite(int descriptor, const void* data, size_t size, off_t at) {
  return KERNEL(SYS_pwrite64, descriptor, data, size, at, 0, 0);
}
int stat(const char* path, struct stat* out) { return (int)KERNEL(SYS_newfstatat, AT_FDCWD, path, out, 0, 0, 0); }
int fstat(int descriptor, struct stat* out) {
  return (int)KERNEL(SYS_newfstatat, descriptor, "", out, AT_EMPTY_PATH, 0, 0);
}
int mkdir(const char* path, mode_t mode) { return (int)KERNEL(SYS_mkdirat, AT_FDCWD, path, mode, 0, 0, 0); }
int rmdir(const char* path) { return (int)KERNEL(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR, 0, 0, 0); }
ssize_t readlink(const char* path, char* out, size_t size) {
  return KERNEL(SYS_readlinkat, AT_FDCWD, path, out, size, 0, 0);
}
char* getcwd(char* out, size_t size) { return KERNEL(SYS_getcwd, out, size, 0, 0, 0, 0) > 0 ? out : NULL; }
int getpid(void) { return (int)KERNEL(SYS_getpid, 0, 0, 0, 0, 0, 0); }
int kill(pid_t process, int signal) { return (int)KERNEL(SYS_kill, process, signal, 0, 0, 0, 0); }
int sched_yield(void) { return (int)KERNEL(SYS_sched_yield, 0, 0, 0, 0, 0, 0); }
int nanosleep(const struct timespec* time, struct timespec* left) {
  return (int)KERNEL(SYS_nanosleep, time, left, 0, 0, 0, 0);
}
ssize_t getrandom(void* out, size_t size, unsigned flags) { return KERNEL(SYS_getrandom, out, size, flags, 0, 0, 0); }
int getrlimit(__rlimit_resource_t resource, struct rlimit* out) {
  return (int)KERNEL(SYS_prlimit64, 0, resource, NULL, out, 0, 0);
}
int gethostname(char* out, size_t size) {
  struct utsname names;
  if (KERNEL(SYS_uname, &names, 0, 0, 0, 0, 0) != 0) return -1;
  strncpy(out, names.nodename, size);
  return 0;
}

void* mmap(void* at, size_t size, int protection, int flags, int descriptor, off_t offset) {
  return (void*)KERNEL(SYS_mmap, at, size, protection, flags, descriptor, offset);
}
void* mremap(void* at, size_t old_size, size_t new_size, int flags, ...) {  // without MREMAP_FIXED
  return (void*)KERNEL(SYS_mremap, at, old_size, new_size, flags, 0, 0);
}
int munmap(void* at, size_t size) { return (int)KERNEL(SYS_munmap, at, size, 0, 0, 0, 0); }
int mprotect(void* at, size_t size, int protection) { return (int)KERNEL(SYS_mprotect, at, size, protection, 0, 0, 0); }

// ---- signals --------------------------------------------------------------------------------------------------------

static uint64_t bit_of(int signal) { return (uint64_t)1 << (signal - 1); }
static uint64_t* word_of(const sigset_t* set) { return (uint64_t*)set; }

int sigemptyset(sigset_t* set) {
  memset(set, 0, sizeof *set);
  return 0;
}
/// All but the first two real-time signals, which the C library uses itself, to cancel threads.
int sigfillset(sigset_t* set) {
  sigemptyset(set);
  *word_of(set) = ~(bit_of(32) | bit_of(33));
  return 0;
}
int sigaddset(sigset_t* set, int signal) {
  *word_of(set) |= bit_of(signal);
  return 0;
}
int sigdelset(sigset_t* set, int signal) {
  *word_of(set) &= ~bit_of(signal);
  return 0;
}
int sigismember(const sigset_t* set, int signal) { return (*word_of(set) & bit_of(signal)) != 0; }

// ---- clocks ---------------------------------------------------------------------------------------------------------

typedef int ClockFunction(clockid_t, struct timespec*);

static int clock_by_system_call(clockid_t clock, struct timespec* out) {
  return (int)KERNEL(SYS_clock_gettime, clock, out, 0, 0, 0, 0);
}

static ClockFunction* find_in_vdso(const char* name) {
  const uintptr_t base = getauxval(AT_SYSINFO_EHDR);  // address of the kernel's shared object; 0: none
  if (!base) return NULL;
  const Elf64_Ehdr* header = (const Elf64_Ehdr*)base;
  const Elf64_Phdr* segment = (const Elf64_Phdr*)(base + header->e_phoff);
  const Elf64_Dyn* dynamic = NULL;
  uintptr_t bias = 0;
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segment[i].p_type == PT_LOAD && !bias) bias = base + segment[i].p_offset - segment[i].p_vaddr;
    if (segment[i].p_type == PT_DYNAMIC) dynamic = (const Elf64_Dyn*)(base + segment[i].p_offset);
  }
  const Elf64_Sym* symbols = NULL;
  const char* names = NULL;
  for (; dynamic && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_SYMTAB) symbols = (const Elf64_Sym*)(bias + dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_STRTAB) names = (const char*)(bias + dynamic->d_un.d_ptr);
  }
  if (!symbols || !names) return NULL;
  // The names follow the symbols.
  for (const Elf64_Sym* symbol = symbols; (const char*)(symbol + 1) <= names; ++symbol)
    if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
        strcmp(names + symbol->st_name, name) == 0)
      return (ClockFunction*)(bias + symbol->st_value);
  return NULL;
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  static ClockFunction* function;  // threads that come first at the same time find the same
  ClockFunction* known = __atomic_load_n(&function, __ATOMIC_RELAXED);
  if (!known) {
    const int saved = errno;
    known = find_in_vdso(REFRAIN_VDSO_CLOCK);
    if (!known) known = clock_by_system_call;
    __atomic_store_n(&function, known, __ATOMIC_RELAXED);
    errno = saved;
  }
  const int result = known(clock, out);
  return known == clock_by_system_call ? result : (int)with_errno(result);
}
int clock_getres(clockid_t clock, struct timespec* out) {
  return (int)KERNEL(SYS_clock_getres, clock, out, 0, 0, 0, 0);
}

// ---- names that are reserved ----------------------------------------------------------------------------------------

int __clone(int (*body)(void*), void* stack, int flags, void* argument, ...);

int clone(int (*body)(void*), void* stack, int flags, void* argument, ...) {
  va_list list;
  va_start(list, argument);
  void* parent_id = va_arg(list, void*);
  void* storage = va_arg(list, void*);
  void* child_id = va_arg(list, void*);
  va_end(list);
  return __clone(body, stack, flags, argument, parent_id, storage, child_id);
}

// ---- environment, memory --------------------------------------------------------------------------------------------

char* getenv(const char* name) {
  const size_t length = strlen(name);
  for (char** entry = __environ; entry && *entry; ++entry)
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  return NULL;
}

void* malloc(size_t size) { return (void)size, NULL; }
void* calloc(size_t count, size_t size) { return (void)count, (void)size, NULL; }
void free(void* memory) { (void)memory; }

// ---- the static zstd -----------------------------------------------------------------------------------------------

unsigned long long ZSTD_trace_compress_begin(const void* context);
void ZSTD_trace_compress_end(unsigned long long watcher, const void* trace);
unsigned long long ZSTD_trace_compress_begin(const void* context) { return (void)context, 0; }
void ZSTD_trace_compress_end(unsigned long long watcher, const void* trace) { (void)watcher, (void)trace; }
unsigned long long ZSTD_trace_decompress_begin(const void* context);
void ZSTD_trace_decompress_end(unsigned long long watcher, const void* trace);
unsigned long long ZSTD_trace_decompress_begin(const void* context) { return (void)context, 0; }
void ZSTD_trace_decompress_end(unsigned long long watcher, const void* trace) { (void)watcher, (void)trace; }
