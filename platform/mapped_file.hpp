#pragma once
/// A file, read by mapping it: neither its size nor malloc's matter. Ordinary context only.

#include <cstddef>
#include <fcntl.h>
#include <span>

namespace refrain::platform {

class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Once. False: `error` has the errno value; there are no bytes then. errno itself stays as it was.
  /// `directory`: a descriptor where a relative path begins, or AT_FDCWD.
  [[nodiscard]] bool open(const char* path, int directory = AT_FDCWD);
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

  int error = 0;

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace refrain::platform
