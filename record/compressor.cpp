#include "record/compressor.hpp"

#define ZSTD_STATIC_LINKING_ONLY  // for a compressor that never enters the program's malloc
#include <zstd.h>

#include "format/profile_file.hpp"

namespace refrain::record {

namespace {

/// Level 1 takes half the time of level 3 and gives files a few percent larger; a process at its end waits for it.
constexpr int compression_level = 1;

// zstd passes only the address when it frees, so the size stands before it, in a cache line of its own.
constexpr std::size_t size_slot = 64;

void* allocate(void*, std::size_t size) {
  void* pages = platform::map_pages(size + size_slot);
  if (!pages) return nullptr;
  *static_cast<std::size_t*>(pages) = size + size_slot;
  return static_cast<std::byte*>(pages) + size_slot;
}

void release(void*, void* address) {
  if (!address) return;
  void* pages = static_cast<std::byte*>(address) - size_slot;
  platform::unmap_pages(pages, *static_cast<std::size_t*>(pages));
}

}  // namespace

Compressor::~Compressor() { ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(context_)); }

std::span<const std::byte> Compressor::compress(std::span<const std::byte> raw) {
  if (raw.size() > format::largest_compressed) return {};
  if (!context_) context_ = ZSTD_createCCtx_advanced({allocate, release, nullptr});
  const std::size_t bound = ZSTD_compressBound(raw.size());
  if (!context_ || !scratch_.reserve(bound)) return {};
  const std::size_t size = ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(context_), scratch_.data(), bound, raw.data(),
                                             raw.size(), compression_level);
  if (ZSTD_isError(size) || size >= raw.size()) return {};
  return {scratch_.data(), size};
}

}  // namespace refrain::record
