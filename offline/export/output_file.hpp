#pragma once
/// The file that a format is written to, from its begin to its end, through a buffer.
///
/// It gets its name when it is finished: what was interrupted leaves no half file. Members throw ExportError. The path
/// "-" is standard output.

#include <filesystem>
#include <string>
#include <string_view>

#include "offline/export/export_error.hpp"

namespace refrain::exports {

class OutputFile {
 public:
  /// Throws when the file exists.
  explicit OutputFile(std::filesystem::path path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Removes what was not finished.
  ~OutputFile();

  void write(std::string_view bytes) {
    buffer_ += bytes;
    if (buffer_.size() >= full) flush();
  }
  void finish();
  const std::filesystem::path& path() const { return path_; }

  /// A descriptor of a file without a name in the same directory, for values in another order than that of the format;
  /// the caller closes it.
  int open_scratch() const;

 private:
  static constexpr std::size_t full = std::size_t{1} << 20;
  [[noreturn]] void fail(int error) const;
  void flush();

  std::filesystem::path path_, partial_;  ///< partial_: empty: there is none
  int descriptor_ = -1;
  std::string buffer_;
};

/// Throws ExportError: a file of open_scratch() cannot be written or read.
[[noreturn]] void fail_scratch(int error);
/// All bytes, whatever a single call takes. False: errno says why.
bool write_all(int descriptor, std::string_view bytes);

}  // namespace refrain::exports
