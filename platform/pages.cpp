#include "platform/pages.hpp"

#include <sys/mman.h>

namespace refrain::platform {

void* map_pages(std::size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

void unmap_pages(void* address, std::size_t bytes) { munmap(address, bytes); }

void* remap_pages(void* address, std::size_t old_bytes, std::size_t new_bytes) {
#ifdef __SANITIZE_THREAD__
  // The thread sanitizer does not see mremap and takes the moved range for the memory that lay there before.
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
