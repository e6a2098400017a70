#pragma once
/// Files that exist completely or not at all: they are written under a name of their own and replace the old file in
/// one step.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace refrain::experiment {

/// Writes all bytes, even if a single call takes fewer. False: errno has the reason.
bool write_all(int descriptor, std::string_view bytes);

/// A file that gets its name when it is finished. Until then its name is NAME, a dot, six characters that no other
/// writer has, and `ending`; an unfinished file is removed. The path "-" is standard output. A device, a pipe or a
/// terminal is written in place: only regular files are replaced. If the path is a symbolic link, the file behind it is
/// replaced and the link stays. Members throw std::system_error.
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
  /// Flushes the data to disk, so that a power failure cannot leave the name of the file without its data.
  void sync();
  void finish();
  const std::filesystem::path& path() const { return path_; }
  bool is_standard_output() const { return path_ == "-"; }
  std::uint64_t size() const { return size_; }

 protected:
  [[noreturn]] void fail(int error) const;

 private:
  static constexpr std::size_t full = std::size_t{1} << 20;
  void open_new(const char* ending);
  void flush();

  std::filesystem::path path_;
  std::filesystem::path replaced_;  ///< the path of the regular file, behind links
  std::string unfinished_;          ///< temporary name; empty: there is none
  int descriptor_ = -1;
  std::string buffer_;
  std::uint64_t size_ = 0;
};

/// Writes a file that tools keep in an experiment, and flushes it to disk. While it is written, its name is `*.new`,
/// which readers ignore. Throws std::system_error and then leaves nothing behind.
void write_whole_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace refrain::experiment
