#include "record/event_frames.hpp"

#include "format/bytes.hpp"
#include "format/checksum.hpp"
#include "format/event_file.hpp"
#include "format/profile_file.hpp"
#include "record/encoder.hpp"

namespace refrain::record {

bool append_event_frame(const events::Block& block, Compressor& compressor, platform::Bytes& out) {
  if (block.records.empty()) return true;
  const auto packed = compressor.compress(block.records);
  const auto stored = packed.empty() ? block.records : packed;
  const std::size_t begin = out.size();
  Encoder encoder(out);
  encoder.fixed(format::event_magic);
  encoder.fixed(format::event_version);
  encoder.fixed(static_cast<std::uint16_t>(packed.empty() ? format::Encoding::Raw : format::Encoding::Zstd));
  encoder.fixed(block.begin.thread);
  encoder.fixed(block.count);
  encoder.fixed(block.begin.time);
  encoder.fixed(block.begin.request);
  encoder.fixed(block.begin.node);
  encoder.fixed(std::uint32_t{0});
  encoder.fixed(block.end);
  encoder.fixed(std::uint64_t{stored.size()});
  encoder.fixed(std::uint64_t{block.records.size()});
  if (encoder.failed()) return false;
  const std::span<std::byte, format::event_head_size> head(out.data() + begin, format::event_head_size);
  format::store_little_endian(head.data() + format::place_of_head_checksum, format::head_checksum(head));
  encoder.raw(stored.data(), stored.size());
  encoder.fixed(format::checksum(out.data() + begin, out.size() - begin));
  return !encoder.failed();
}

}  // namespace refrain::record
