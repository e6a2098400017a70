/// The functions by which a process replaces itself by another program.
///
/// A program that executes its own file again (to set a search path, limits or its memory layout first) goes on being
/// measured: its next image gets the traces of `refrain exec` that clean_environment() has taken out of this one.
/// Nothing else gets them, neither another program nor what a child executes. Children of vfork share our memory, so
/// these functions write only to memory of their own call. Async-signal-safe, as exec is: they call no function of the
/// C library but the one that the program has called, which is looked up at the start.

#include <alloca.h>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstring>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/inlined_code.hpp"
#include "config/line.hpp"
#include "config/preloading.hpp"
#include "guest/guest.hpp"
#include "platform/errno_keeper.hpp"
#include "platform/next_definition.hpp"
#include "platform/pages.hpp"

namespace refrain::guest {
namespace {

using ExecByNameIn = int(const char*, char* const*, char* const*);
platform::NextDefinition<ExecByNameIn> next_execvpe{"execvpe"};

bool is_own_image(const struct stat& file) {
  struct stat own;
  return stat("/proc/self/exe", &own) == 0 && own.st_dev == file.st_dev && own.st_ino == file.st_ino;
}

/// Finds the first executable file of that name in PATH, as execvp does.
bool find_in_path(const char* name, struct stat& file) {
  if (std::strchr(name, '/')) return stat(name, &file) == 0;
  const char* path = getenv("PATH");
  for (const char* at = path ? path : "/bin:/usr/bin"; *name;) {
    const std::size_t size = std::strcspn(at, ":");
    char candidate[PATH_MAX];
    config::Line line(candidate, sizeof candidate);
    line << std::string_view(at, size) << (size ? "/" : "") << name;
    if (stat(candidate, &file) == 0 && S_ISREG(file.st_mode) && (file.st_mode & 0111) != 0) return true;
    if (!at[size]) return false;
    at += size + 1;
  }
  return false;
}

/// The environment of an image that continues this one. It is freed if exec fails.
class Continued {
 public:
  /// `file`: the next image; null: it is unknown, or this process has no measurement to continue.
  Continued(const char* name, const struct stat* file, char* const* environment) : environment_(environment) {
    if (!file) return;
    const platform::ErrnoKeeper errno_keeper;
    if (!is_own_image(*file)) callbacks.replaced(name);
    else if (const Traces of = callbacks.traces(); *of.library) add(of);
  }
  char* const* get() const { return entries_.size() ? entries_.data() : environment_; }

 private:
  static bool is(const char* entry, const char* variable) {
    const std::size_t size = std::strlen(variable);
    return std::strncmp(entry, variable, size) == 0 && entry[size] == '=';
  }

  void add(const Traces& of) {
    const char* theirs = "";
    bool good = true;
    for (char* const* entry = environment_; good && entry && *entry; ++entry) {
      if (is(*entry, "LD_PRELOAD")) theirs = *entry + sizeof "LD_PRELOAD=" - 1;
      else good = entries_.push_back(*entry);
    }
    const std::size_t room = std::strlen(of.first) + std::strlen(of.library) + std::strlen(theirs) +
                             std::strlen(of.notes) + of.inlined_code.size() + 512;
    good = good && text_.resize(room);
    if (good) {
      const auto put = [&](auto... parts) {
        char* entry = text_.data() + used_;
        for (const std::string_view part : {std::string_view(parts)...}) {
          std::memcpy(text_.data() + used_, part.data(), part.size());
          used_ += part.size();
        }
        text_[used_++] = 0;
        good = good && entries_.push_back(entry);
      };
      put("LD_PRELOAD=", of.first, *of.first ? ":" : "", of.library, *theirs ? ":" : "", theirs);
      put(config::mode_variable, "=program");
      if (*of.first) put(config::first_variable, "=", of.first);
      if (*of.notes) put("REFRAIN_INTERNAL_RUN=", of.notes);
      if (!of.inlined_code.empty()) put(config::inlined_code_variable, "=", of.inlined_code);
    }
    if (!good || !entries_.push_back(nullptr)) entries_.release();
  }

  char* const* environment_;
  platform::GrowableArray<char*> entries_;
  platform::GrowableArray<char> text_;
  std::size_t used_ = 0;
};

int execute(const char* path, char* const* arguments, char* const* environment) {
  struct stat file;
  const bool found = callbacks.can_be_continued() && stat(path, &file) == 0;
  const Continued continued(path, found ? &file : nullptr, environment);
  return static_cast<int>(syscall(SYS_execve, path, arguments, continued.get()));
}

/// Leaves the search, and scripts without a "#!" line, to the C library's own function.
int execute_by_name(const char* name, char* const* arguments, char* const* environment) {
  struct stat file;
  const bool found = callbacks.can_be_continued() && find_in_path(name, file);
  const Continued continued(name, found ? &file : nullptr, environment);
  ExecByNameIn* next = next_execvpe.get();
  if (!next) return errno = ENOSYS, -1;
  return next(name, arguments, continued.get());
}

int execute_open(int directory, const char* path, char* const* arguments, char* const* environment, int flags) {
  struct stat file;
  const bool found =
      callbacks.can_be_continued() && syscall(SYS_newfstatat, directory, path, &file, flags & AT_EMPTY_PATH) == 0;
  const Continued continued(path, found ? &file : nullptr, environment);
  return static_cast<int>(syscall(SYS_execveat, directory, path, arguments, continued.get(), flags));
}

}  // namespace

void find_exec_functions() { next_execvpe.get(); }

}  // namespace refrain::guest

namespace {

/// Counts the arguments of an execl function up to the null pointer, and leaves `list` behind it.
std::size_t count_arguments(va_list list) {
  std::size_t count = 0;
  while (va_arg(list, char*)) ++count;
  return count;
}

}  // namespace

/// Makes an array, on the stack, of the arguments of a variadic function.
#define WORDS(words, first)                                                 \
  va_list list_;                                                            \
  va_start(list_, first);                                                   \
  const std::size_t count_ = count_arguments(list_);                        \
  va_end(list_);                                                            \
  char** words = static_cast<char**>(alloca((count_ + 2) * sizeof(char*))); \
  words[0] = const_cast<char*>(first);                                      \
  va_start(list_, first);                                                   \
  for (std::size_t i_ = 1; i_ <= count_ + 1; ++i_) words[i_] = va_arg(list_, char*)

extern "C" {

using namespace refrain::guest;

REFRAIN_EXPORT int execve(const char* path, char* const* arguments, char* const* environment) noexcept {
  return execute(path, arguments, environment);
}
REFRAIN_EXPORT int execv(const char* path, char* const* arguments) noexcept {
  return execute(path, arguments, __environ);
}
REFRAIN_EXPORT int execvpe(const char* name, char* const* arguments, char* const* environment) noexcept {
  return execute_by_name(name, arguments, environment);
}
REFRAIN_EXPORT int execvp(const char* name, char* const* arguments) noexcept {
  return execute_by_name(name, arguments, __environ);
}
REFRAIN_EXPORT int fexecve(int descriptor, char* const* arguments, char* const* environment) noexcept {
  return execute_open(descriptor, "", arguments, environment, AT_EMPTY_PATH);
}
REFRAIN_EXPORT int execveat(int directory, const char* path, char* const* arguments, char* const* environment,
                            int flags) noexcept {
  return execute_open(directory, path, arguments, environment, flags);
}
REFRAIN_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  WORDS(words, first);
  va_end(list_);
  return execute(path, words, __environ);
}
REFRAIN_EXPORT int execlp(const char* name, const char* first, ...) noexcept {
  WORDS(words, first);
  va_end(list_);
  return execute_by_name(name, words, __environ);
}
REFRAIN_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  WORDS(words, first);
  char* const* environment = va_arg(list_, char* const*);
  va_end(list_);
  return execute(path, words, environment);
}

}  // extern "C"
