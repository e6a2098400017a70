#pragma once
/// The bytes of a file that is being read, from the disk or from memory, and the errors about it. Offline half.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::archive {

class InputFile {
 public:
  /// Throws ReadError.
  explicit InputFile(const std::filesystem::path& path);
  /// `bytes` must outlive this; `name` stands in the messages.
  InputFile(std::string name, std::span<const std::byte> bytes);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  std::uint64_t size() const { return size_; }
  const std::string& name() const { return name_; }
  /// Bytes [offset, offset + size). Throws ReadError, which calls them `what`, when they are not all there; nothing is
  /// allocated before that is known.
  std::vector<std::byte> read(std::uint64_t offset, std::uint64_t size, std::string_view what) const;
  /// Throws ReadError: "NAME: at byte OFFSET: WHAT".
  [[noreturn]] void fail(std::uint64_t offset, std::string_view what) const;

 private:
  std::string name_;
  std::span<const std::byte> memory_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace refrain::archive
