#include "archive/block_builder.hpp"

#define ZSTD_STATIC_LINKING_ONLY  // for a compressor that never enters the program's malloc
#include <zstd.h>

#include "archive/byte_codec.hpp"
#include "archive/checksum.hpp"

namespace refrain::archive {

namespace {

/// Level 1 takes half the time of level 3 and gives files a few percent larger; a process at its end waits for it.
constexpr int compression_level = 1;

// zstd gives back the address only, so the size stands before it, in a full alignment unit.
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

BlockBuilder::~BlockBuilder() { ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(compressor_)); }

bool BlockBuilder::append(format::Section type, format::Encoding encoding, const void* data, std::size_t stored,
                          std::size_t raw) {
  if (count_ == most_sections) return false;
  entries_[count_++] = {type, encoding, payloads_.size(), stored, raw, checksum(data, stored)};
  return payloads_.append(static_cast<const std::byte*>(data), stored);
}

bool BlockBuilder::add(format::Section type, const platform::Bytes& payload) {
  if (!compressor_) compressor_ = ZSTD_createCCtx_advanced({allocate, release, nullptr});
  if (compressor_ && scratch_.reserve(ZSTD_compressBound(payload.size()))) {
    const std::size_t size =
        ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(compressor_), scratch_.data(), ZSTD_compressBound(payload.size()),
                          payload.data(), payload.size(), compression_level);
    if (!ZSTD_isError(size) && size < payload.size())
      return append(type, format::Encoding::Zstd, scratch_.data(), size, payload.size());
  }
  return add_raw(type, payload.data(), payload.size());
}

bool BlockBuilder::add_raw(format::Section type, const void* payload, std::size_t size) {
  return append(type, format::Encoding::Raw, payload, size, size);
}

bool BlockBuilder::finish(platform::Bytes& out) const {
  const std::size_t start = out.size();
  const std::size_t table = format::section_table_size(count_);
  if (!out.reserve(start + table + payloads_.size())) return false;
  Encoder encoder(out);
  encoder.fixed(static_cast<std::uint32_t>(count_));
  encoder.fixed(static_cast<std::uint32_t>(format::section_entry_size));
  for (std::size_t i = 0; i < count_; ++i) {
    const Entry& entry = entries_[i];
    encoder.fixed(static_cast<std::uint32_t>(entry.type));
    encoder.fixed(format::section_version);
    encoder.fixed(static_cast<std::uint16_t>(entry.encoding));
    encoder.fixed(table + entry.offset);
    encoder.fixed(entry.stored);
    encoder.fixed(entry.raw);
    encoder.fixed(entry.checksum);
  }
  encoder.fixed(checksum(out.data() + start, out.size() - start));
  encoder.raw(payloads_.data(), payloads_.size());
  return !encoder.failed();
}

}  // namespace refrain::archive
