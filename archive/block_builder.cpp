#include "archive/block_builder.hpp"

#include "archive/byte_codec.hpp"
#include "archive/checksum.hpp"

namespace refrain::archive {

bool BlockBuilder::append(format::Section type, format::Encoding encoding, const void* data, std::size_t stored,
                          std::size_t raw) {
  if (count_ == most_sections) return false;
  entries_[count_++] = {type, encoding, payloads_.size(), stored, raw, checksum(data, stored)};
  return payloads_.append(static_cast<const std::byte*>(data), stored);
}

bool BlockBuilder::add(format::Section type, const platform::Bytes& payload) {
  if (const auto packed = compressor_.compress(payload.view()); !packed.empty())
    return append(type, format::Encoding::Zstd, packed.data(), packed.size(), payload.size());
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
