#include "events/packer.hpp"

#include <algorithm>

#define ZSTD_STATIC_LINKING_ONLY  // for contexts in memory of our own
#include <zstd.h>

namespace refrain::events {
namespace {

/// Level 1 compresses 100 calls to a sixth in 4 us. Higher levels take longer and gain next to nothing.
constexpr int level = 1;
constexpr std::size_t alignment = 64;
constexpr std::size_t room_bytes = ZSTD_COMPRESSBOUND(Packer::most) / alignment * alignment + alignment;

std::size_t memory_of_zstd() {
  // zstd's parameters change at 16 KiB.
  const auto needed = [](std::size_t size) {
    return ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(level, size, 0));
  };
  return std::max({needed(std::size_t{16} << 10), needed(Packer::most), ZSTD_estimateDCtxSize()});
}

}  // namespace

Packer Packer::at_end_of(std::span<std::byte>& memory) {
  constexpr std::size_t min_shares = 16;
  const std::size_t needed = (room_bytes + memory_of_zstd() + alignment) / alignment * alignment;
  Packer packer;
  if (needed > memory.size() / min_shares) return packer;
  memory = memory.first((memory.size() - needed) / alignment * alignment);
  packer.memory_ = memory.data() + memory.size();
  packer.pack_ = &pack_piece;
  packer.unpack_ = &unpack_piece;
  return packer;
}

std::span<const std::byte> Packer::pack_piece(Packer& p, std::span<const std::byte> piece) {
  if (piece.size() > most) return {};
  if (!p.packing_) {
    p.unpacking_ = nullptr;
    ZSTD_CCtx* const made = ZSTD_initStaticCCtx(p.memory_ + room_bytes, memory_of_zstd());
    if (!made) return {};
    ZSTD_CCtx_setParameter(made, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(made, ZSTD_c_format, ZSTD_f_zstd1_magicless);
    ZSTD_CCtx_setParameter(made, ZSTD_c_contentSizeFlag, 0);
    p.packing_ = made;
  }
  const std::size_t size =
      ZSTD_compress2(static_cast<ZSTD_CCtx*>(p.packing_), p.memory_, room_bytes, piece.data(), piece.size());
  if (ZSTD_isError(size) || size >= piece.size()) return {};
  return {p.memory_, size};
}

bool Packer::unpack_piece(Packer& p, std::span<const std::byte> packed, std::span<std::byte> piece) {
  if (!p.unpacking_) {
    p.packing_ = nullptr;
    ZSTD_DCtx* const made = ZSTD_initStaticDCtx(p.memory_ + room_bytes, memory_of_zstd());
    if (!made) return false;
    ZSTD_DCtx_setParameter(made, ZSTD_d_format, ZSTD_f_zstd1_magicless);
    p.unpacking_ = made;
  }
  return ZSTD_decompressDCtx(static_cast<ZSTD_DCtx*>(p.unpacking_), piece.data(), piece.size(), packed.data(),
                             packed.size()) == piece.size();
}

}  // namespace refrain::events
