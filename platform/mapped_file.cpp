#include "platform/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/errno_keeper.hpp"

namespace refrain::platform {

MappedFile::~MappedFile() {
  if (address_) munmap(address_, size_);
}

bool MappedFile::open(const char* path, int directory) {
  const ErrnoKeeper errno_keeper;
  const int descriptor = ::openat(directory, path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0) {
    error = errno;
  } else if (fstat(descriptor, &status) != 0) {
    error = errno;
  } else if (status.st_size > 0) {
    void* address = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) error = errno;
    else address_ = address, size_ = static_cast<std::size_t>(status.st_size);
  }
  if (descriptor >= 0) close(descriptor);
  return error == 0;
}

}  // namespace refrain::platform
