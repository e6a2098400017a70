#pragma once
/// Frames of events, the contents of events-<rank>.refrain (format/event_file.hpp). Runtime half.

#include "events/buffer.hpp"
#include "platform/pages.hpp"
#include "record/compressor.hpp"

namespace refrain::record {

/// Appends a frame to `out`; nothing when the block is empty. False: no memory.
[[nodiscard]] bool append_event_frame(const events::Block& block, Compressor& compressor, platform::Bytes& out);

}  // namespace refrain::record
