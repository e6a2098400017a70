#pragma once
/// The file that a format is written to, from its begin to its end. Nothing is overwritten.

#include <filesystem>

#include "offline/experiment/whole_file.hpp"
#include "offline/export/export_error.hpp"

namespace refrain::exports {

class OutputFile : public experiment::NewFile {
 public:
  /// Throws ExportError when the file exists, as finish() does.
  explicit OutputFile(const std::filesystem::path& path);
  void finish();

  /// A descriptor of a file without a name in the same directory, for values in another order than that of the format;
  /// the caller closes it. Throws std::system_error.
  int open_scratch() const;
};

/// Throws ExportError: a file of open_scratch() cannot be written or read.
[[noreturn]] void fail_scratch(int error);

}  // namespace refrain::exports
