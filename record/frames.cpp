#include "record/frames.hpp"

#include "format/bytes.hpp"
#include "format/checksum.hpp"
#include "format/event_file.hpp"
#include "record/encoder.hpp"

namespace refrain::record {
namespace {

/// The payload as it is stored.
struct Stored {
  std::span<const std::byte> bytes;
  format::Encoding encoding;
  Stored(std::span<const std::byte> payload, Compressor& compressor)
      : bytes(compressor.compress(payload)), encoding(format::Encoding::Zstd) {
    if (!bytes.empty()) return;
    bytes = payload;
    encoding = format::Encoding::Raw;
  }
};

/// Completes the frame whose head begins at `begin`.
bool end_frame(const Stored& stored, std::size_t begin, Encoder& encoder, const platform::Bytes& out) {
  encoder.raw(stored.bytes.data(), stored.bytes.size());
  encoder.fixed(format::checksum(out.data() + begin, out.size() - begin));
  return !encoder.failed();
}

}  // namespace

bool append_frame(format::FrameKind kind, std::int32_t thread, std::uint32_t loop, std::span<const std::byte> payload,
                  Compressor& compressor, platform::Bytes& out) {
  if (payload.empty()) return true;
  const Stored stored(payload, compressor);
  const std::size_t begin = out.size();
  Encoder encoder(out);
  encoder.fixed(format::frame_magic);
  encoder.fixed(static_cast<std::uint16_t>(kind));
  encoder.fixed(static_cast<std::uint16_t>(stored.encoding));
  encoder.fixed(thread);
  encoder.fixed(loop);
  encoder.fixed(std::uint64_t{stored.bytes.size()});
  encoder.fixed(std::uint64_t{payload.size()});
  return end_frame(stored, begin, encoder, out);
}

bool append_event_frame(const events::Block& block, Compressor& compressor, platform::Bytes& out) {
  if (block.records.empty()) return true;
  const Stored stored(block.records, compressor);
  const std::size_t begin = out.size();
  Encoder encoder(out);
  encoder.fixed(format::event_magic);
  encoder.fixed(format::event_version);
  encoder.fixed(static_cast<std::uint16_t>(stored.encoding));
  encoder.fixed(block.begin.thread);
  encoder.fixed(block.count);
  encoder.fixed(block.begin.time);
  encoder.fixed(block.begin.request);
  encoder.fixed(block.begin.node);
  encoder.fixed(std::uint32_t{0});
  encoder.fixed(block.end);
  encoder.fixed(std::uint64_t{stored.bytes.size()});
  encoder.fixed(std::uint64_t{block.records.size()});
  if (encoder.failed()) return false;
  const std::span<std::byte, format::event_head_size> head(out.data() + begin, format::event_head_size);
  format::store_little_endian(head.data() + format::head_checksum_offset, format::head_checksum(head));
  return end_frame(stored, begin, encoder, out);
}

}  // namespace refrain::record
