#pragma once
/// A file that is compressed as it is written (RFC 1952).

#include <memory>
#include <string_view>

#include "offline/export/output_file.hpp"

namespace refrain::exports {

class GzipStream {
 public:
  /// `out` must outlive the stream.
  explicit GzipStream(OutputFile& out);
  ~GzipStream();
  /// Throws ExportError; so does finish().
  void write(std::string_view bytes);
  /// Ends the compressed data. Nothing may be written afterwards.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace refrain::exports
