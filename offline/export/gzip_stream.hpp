#pragma once
/// A file that is compressed as it is written (RFC 1952).

#include <memory>
#include <string_view>

#include "offline/export/output_file.hpp"

namespace refrain::exports {

class GzipStream {
 public:
  /// `out` must outlive it.
  explicit GzipStream(OutputFile& out);
  ~GzipStream();
  /// Throws ExportError, as finish() does.
  void write(std::string_view bytes);
  /// The end of the compressed data; nothing may be written afterwards.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace refrain::exports
