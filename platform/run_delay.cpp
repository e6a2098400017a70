#include "platform/run_delay.hpp"

#include <cstddef>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/errno_keeper.hpp"
#include "platform/own_descriptor.hpp"
#include "platform/system_call.h"
#include "platform/threads.hpp"

namespace refrain::platform {
namespace {

/// Tells the purpose of the descriptor. The signal is never sent, because the file cannot send any.
constexpr int mark = SIGWINCH;

int open_read_only(const char* path) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
}

int open_file(int os_thread_id) {
  constexpr char before[] = "/proc/self/task/", behind[] = "/schedstat";
  char path[sizeof before + sizeof behind + 10];
  char* at = path;
  for (const char* c = before; *c; ++c) *at++ = *c;
  char digits[10];
  std::size_t count = 0;
  for (int rest = os_thread_id; rest > 0; rest /= 10) digits[count++] = static_cast<char>('0' + rest % 10);
  while (count > 0) *at++ = digits[--count];
  for (const char* c = behind; *c; ++c) *at++ = *c;
  *at = 0;
  return open_read_only(path);
}

/// Reads the number at `at` and moves `at` behind it and its separator. -1: there is none.
std::int64_t take_number(const char*& at, const char* end) {
  if (at == end || *at < '0' || *at > '9') return -1;
  std::int64_t number = 0;
  for (; at != end && *at >= '0' && *at <= '9'; ++at) number = 10 * number + (*at - '0');
  if (at != end) ++at;
  return number;
}

/// Preserves errno.
std::int64_t read_file(int descriptor) {
  char text[64];
  const long length = refrain_system_call(SYS_pread64, descriptor, reinterpret_cast<long>(text), sizeof text, 0, 0, 0);
  const char* at = text;
  const char* const end = length > 0 ? text + length : text;
  const std::int64_t on_processor = take_number(at, end), delay = take_number(at, end);
  if (on_processor < 0 || delay < 0) return RunDelay::unknown;
  // The last number is how often the thread got a processor. A kernel that does not count leaves all three 0.
  return (on_processor | delay) != 0 || take_number(at, end) > 0 ? delay : RunDelay::unknown;
}

}  // namespace

bool RunDelay::open() {
  close();
  const ErrnoKeeper errno_keeper;
  if (!reserve_descriptor(DescriptorUse::RunDelay)) return false;
  const int file = keep_descriptor(open_read_only("/proc/thread-self/schedstat"), DescriptorUse::RunDelay, mark);
  if (file < 0) return false;
  descriptor_ = file;
  os_thread_id_ = thread_id();
  return true;
}

void RunDelay::close() {
  if (descriptor_ <= 0) return;
  const ErrnoKeeper errno_keeper;
  close_copy();
  descriptor_ = 0;
  release_descriptor(DescriptorUse::RunDelay);
}

void RunDelay::close_copy() {
  if (is_marked_descriptor(descriptor_, os_thread_id_, mark)) syscall(SYS_close, descriptor_);
}

std::int64_t RunDelay::ns() const {
  if (descriptor_ <= 0) return unknown;
  const bool is_own = refrain_system_call(SYS_fcntl, descriptor_, F_GETOWN, 0, 0, 0, 0) == os_thread_id_;
  return is_own ? read_file(descriptor_) : unknown;
}

std::int64_t RunDelay::ns_of(int os_thread_id) {
  const ErrnoKeeper errno_keeper;
  const int file = open_file(os_thread_id);
  if (file < 0) return unknown;
  // The program may close it meanwhile and get the number for a file of its own.
  const bool is_marked = mark_descriptor(file, mark);
  const std::int64_t result = is_marked ? read_file(file) : unknown;
  if (!is_marked || is_marked_descriptor(file, thread_id(), mark)) syscall(SYS_close, file);
  return result;
}

}  // namespace refrain::platform
