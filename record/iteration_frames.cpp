#include "record/iteration_frames.hpp"

#include "format/checksum.hpp"
#include "record/encoder.hpp"

namespace refrain::record {

bool append_frame(format::FrameKind kind, std::int32_t thread, std::uint32_t loop, std::span<const std::byte> payload,
                  Compressor& compressor, platform::Bytes& out) {
  if (payload.empty()) return true;
  const auto packed = compressor.compress(payload);
  const auto stored = packed.empty() ? payload : packed;
  const std::size_t begin = out.size();
  Encoder encoder(out);
  encoder.fixed(format::frame_magic);
  encoder.fixed(static_cast<std::uint16_t>(kind));
  encoder.fixed(static_cast<std::uint16_t>(packed.empty() ? format::Encoding::Raw : format::Encoding::Zstd));
  encoder.fixed(thread);
  encoder.fixed(loop);
  encoder.fixed(std::uint64_t{stored.size()});
  encoder.fixed(std::uint64_t{payload.size()});
  encoder.raw(stored.data(), stored.size());
  encoder.fixed(format::checksum(out.data() + begin, out.size() - begin));
  return !encoder.failed();
}

}  // namespace refrain::record
