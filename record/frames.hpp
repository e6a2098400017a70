#pragma once
/// Frames: compressed pieces of what a rank writes while it runs. Runtime half. False: no memory.

#include <cstdint>
#include <span>

#include "events/buffer.hpp"
#include "format/profile_file.hpp"
#include "platform/pages.hpp"
#include "record/compressor.hpp"

namespace refrain::record {

/// Of iterations, the contents of section 21 and of iterations-<rank>.refrain (docs/file-format.md): a piece of the log
/// or of the merges of one loop, or its samples. Appends to `out`; nothing when the payload is empty.
[[nodiscard]] bool append_frame(format::FrameKind kind, std::int32_t thread, std::uint32_t loop,
                                std::span<const std::byte> payload, Compressor& compressor, platform::Bytes& out);

/// Of events, the contents of events-<rank>.refrain (format/event_file.hpp). Likewise.
[[nodiscard]] bool append_event_frame(const events::Block& block, Compressor& compressor, platform::Bytes& out);

}  // namespace refrain::record
