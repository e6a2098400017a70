#pragma once
/// Files that are there as a whole, or not at all: they are written under a name of their own, and take the place of
/// the old one in one step.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace refrain::experiment {

/// All bytes, whatever a single call takes. False: errno says why.
bool write_all(int descriptor, std::string_view bytes);

/// A file that gets its name when it is finished. Until then it is NAME, six characters that no other writer has, and
/// `ending`; what was not finished is removed. The path "-" is standard output. Members throw std::system_error.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path path, const char* ending = ".part");
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  void write(std::string_view bytes) {
    size_ += bytes.size();
    buffer_ += bytes;
    if (buffer_.size() >= full) flush();
  }
  /// Puts the data on the disk, so that a machine that loses its power does not have the name of a file without data.
  void sync();
  void finish();
  const std::filesystem::path& path() const { return path_; }
  bool is_standard_output() const { return path_ == "-"; }
  std::uint64_t size() const { return size_; }

 protected:
  [[noreturn]] void fail(int error) const;

 private:
  static constexpr std::size_t full = std::size_t{1} << 20;
  void flush();

  std::filesystem::path path_;
  std::string unfinished_;  ///< empty: there is none
  int descriptor_ = -1;
  std::string buffer_;
  std::uint64_t size_ = 0;
};

/// A file that tools keep in an experiment, on the disk. Its name is `*.new` while it is written, which readers ignore.
/// Throws std::system_error; nothing is left behind then.
void write_whole_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace refrain::experiment
