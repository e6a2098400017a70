#pragma once
/// zstd on mapped pages. Runtime half.

#include <cstddef>
#include <span>

#include "platform/pages.hpp"

namespace refrain::record {

class Compressor {
 public:
  Compressor() = default;
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  /// Returns one zstd frame, valid until the next call. Empty: it would not be smaller, the contents are larger than a
  /// reader unpacks (format/profile_file.hpp), or there is no memory.
  std::span<const std::byte> compress(std::span<const std::byte> raw);

 private:
  platform::Bytes scratch_;
  void* context_ = nullptr;
};

}  // namespace refrain::record
