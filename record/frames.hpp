#pragma once
/// Frames: the compressed pieces that a rank writes while it runs. Runtime half. Errors: false if there is no memory.

#include <cstdint>
#include <span>

#include "events/buffer.hpp"
#include "format/profile_file.hpp"
#include "platform/pages.hpp"
#include "record/compressor.hpp"

namespace refrain::record {

/// Appends a frame of iterations to `out`, as section 21 and iterations-<rank>.refrain contain them
/// (docs/file-format.md): a piece of the log or of the merges of one loop, or its samples. Appends nothing if the
/// payload is empty.
[[nodiscard]] bool append_frame(format::FrameKind kind, std::int32_t thread, std::uint32_t loop,
                                std::span<const std::byte> payload, Compressor& compressor, platform::Bytes& out);

/// Appends a frame of events, as events-<rank>.refrain contains them (format/event_file.hpp). Likewise.
[[nodiscard]] bool append_event_frame(const events::Block& block, Compressor& compressor, platform::Bytes& out);

}  // namespace refrain::record
