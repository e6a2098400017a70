#pragma once
/// The file that a format is written to, from beginning to end. Nothing is overwritten.

#include <filesystem>

#include "offline/experiment/whole_file.hpp"
#include "offline/export/export_error.hpp"

namespace refrain::exports {

class OutputFile : public experiment::NewFile {
 public:
  /// Throws ExportError when the file exists; so does finish().
  explicit OutputFile(const std::filesystem::path& path);
  void finish();

  /// Opens an unnamed file, for values in another order than the format's, in the same directory, or for standard
  /// output in that of temporary files; the caller closes the descriptor. Throws std::system_error.
  int open_scratch() const;
};

/// Throws the ExportError of a file of open_scratch() that cannot be written or read.
[[noreturn]] void fail_scratch(int error);

}  // namespace refrain::exports
