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

  /// One zstd frame, valid until the next call. Empty when that would not be smaller, when the contents are larger than
  /// a reader unpacks (format/profile_file.hpp), or when there is no memory.
  std::span<const std::byte> compress(std::span<const std::byte> raw);

 private:
  platform::Bytes scratch_;
  void* context_ = nullptr;
};

}  // namespace refrain::record
