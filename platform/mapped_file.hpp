#pragma once
/// A file, read by mapping it: neither its size nor malloc's matter. Ordinary context only.

#include <cstddef>
#include <span>

namespace refrain::platform {

class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Once. False: `error` has the errno value; there are no bytes then. errno itself stays as it was.
  [[nodiscard]] bool open(const char* path);
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

  int error = 0;

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace refrain::platform
