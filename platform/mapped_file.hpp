#pragma once
/// A file that is read by mapping it, so that it may be large and malloc is not needed. Ordinary context only.

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

  /// Call it once. False: `error` is the errno value, and there are no bytes. errno itself is preserved.
  /// `directory` is the descriptor at which a relative path begins, or AT_FDCWD.
  [[nodiscard]] bool open(const char* path, int directory = AT_FDCWD);
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

  int error = 0;

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace refrain::platform
