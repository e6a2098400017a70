#include "platform/pages.hpp"

#include <algorithm>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/errno_keeper.hpp"

namespace refrain::platform {
namespace {

constexpr std::uintptr_t page_size = 4096;
/// How much is opened at a time: one system call for some thousand call paths; less for a small part.
constexpr std::size_t largest_step = std::size_t{256} << 10, min_step = std::size_t{16} << 10, steps = 32;

/// In a program that locks future mappings (MCL_FUTURE) each mapping is locked: it becomes resident as a whole, unless
/// it cannot be touched yet, and counts against what the program may lock. Ours shall not be locked.
void* map_small_pages(std::size_t bytes, int protection) {
  const int error = errno;
  void* p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  syscall(SYS_munlock, p, bytes);
  syscall(SYS_madvise, p, bytes, MADV_NOHUGEPAGE);  // a kernel without huge pages refuses
  if (protection != PROT_NONE && syscall(SYS_mprotect, p, bytes, protection) != 0) {
    munmap(p, bytes);
    return nullptr;
  }
  errno = error;
  return p;
}

}  // namespace

void* map_pages(std::size_t bytes) { return map_small_pages(bytes, PROT_READ | PROT_WRITE); }

void* reserve_pages(std::size_t bytes) { return map_small_pages(bytes, PROT_NONE); }

bool OpenedPart::open(const std::byte* end) {
  if (end > end_) return false;
  const auto down = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) & ~(page_size - 1); };
  const auto left = static_cast<std::size_t>(end_ - opened_);
  const std::byte* const next = opened_ + std::min(std::clamp(left / steps, min_step, largest_step), left);
  const std::byte* const wanted = std::max(end, next);
  const std::uintptr_t from = down(opened_), to = down(wanted + page_size - 1);
  const ErrnoKeeper errno_keeper;
  const bool opened = syscall(SYS_mprotect, from, to - from, PROT_READ | PROT_WRITE) == 0;
  if (opened) opened_ = std::min(reinterpret_cast<std::byte*>(to), end_);
  return opened;
}

void unmap_pages(void* address, std::size_t bytes) { munmap(address, bytes); }

void* remap_pages(void* address, std::size_t old_bytes, std::size_t new_bytes) {
#ifdef __SANITIZE_THREAD__
  // The thread sanitizer does not see mremap, and would take the moved range for the memory that was there before.
  void* moved = map_pages(new_bytes);
  if (!moved) return nullptr;
  std::memcpy(moved, address, old_bytes < new_bytes ? old_bytes : new_bytes);
  unmap_pages(address, old_bytes);
  return moved;
#else
  void* p = mremap(address, old_bytes, new_bytes, MREMAP_MAYMOVE);
  return p == MAP_FAILED ? nullptr : p;
#endif
}

}  // namespace refrain::platform
