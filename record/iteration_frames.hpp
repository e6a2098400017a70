#pragma once
/// Frames of iterations, the contents of section 21 and of iterations-<rank>.refrain (docs/file-format.md): a piece of
/// the log or of the merges of one loop, or its samples, compressed. Runtime half.

#include <cstdint>
#include <span>

#include "format/profile_file.hpp"
#include "platform/pages.hpp"
#include "record/compressor.hpp"

namespace refrain::record {

/// Appends a frame to `out`; nothing when the payload is empty. False: no memory.
[[nodiscard]] bool append_frame(format::FrameKind kind, std::int32_t thread, std::uint32_t loop,
                                std::span<const std::byte> payload, Compressor& compressor, platform::Bytes& out);

}  // namespace refrain::record
