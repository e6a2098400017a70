#include "record/block_builder.hpp"

#include "format/checksum.hpp"
#include "record/encoder.hpp"

namespace refrain::record {

bool BlockBuilder::append(format::Section type, format::Encoding encoding, Payload payload, std::size_t raw) {
  const std::size_t offset = payloads_.size();
  if (count_ == max_sections || !payloads_.append(payload.data(), payload.size())) return false;
  entries_[count_++] = {type, encoding, offset, payload.size(), raw, format::checksum(payload.data(), payload.size())};
  return true;
}

bool BlockBuilder::add(format::Section type, const platform::Bytes& payload) {
  if (const auto packed = compressor_.compress(payload.view()); !packed.empty())
    return append(type, format::Encoding::Zstd, packed, payload.size());
  return add_raw(type, payload.view());
}

bool BlockBuilder::add_raw(format::Section type, Payload first, Payload rest) {
  const std::size_t offset = payloads_.size();
  if (!append(type, format::Encoding::Raw, first, first.size()) || !payloads_.append(rest.data(), rest.size()))
    return false;
  Entry& entry = entries_[count_ - 1];
  entry.stored = entry.raw = first.size() + rest.size();
  if (!rest.empty()) entry.checksum = format::checksum(payloads_.data() + offset, entry.stored);
  return true;
}

bool BlockBuilder::put_table(platform::Bytes& out) const {
  const std::size_t start = out.size();
  const std::size_t table = format::section_table_size(count_);
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
  encoder.fixed(format::checksum(out.data() + start, out.size() - start));
  return !encoder.failed();
}

}  // namespace refrain::record
