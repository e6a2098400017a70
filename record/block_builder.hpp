#pragma once
/// A block of the profile file: a table of sections with checksums, then their payloads, which are compressed if that
/// makes them smaller. Offsets are relative to the block, so it can be built before its offset in the file is known.
/// Runtime half.

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/profile_file.hpp"
#include "platform/pages.hpp"
#include "record/compressor.hpp"

namespace refrain::record {

class BlockBuilder {
 public:
  BlockBuilder() = default;
  BlockBuilder(const BlockBuilder&) = delete;
  BlockBuilder& operator=(const BlockBuilder&) = delete;

  /// Appends a section, compressed if that makes it smaller. False: no memory, or too many sections.
  [[nodiscard]] bool add(format::Section type, const platform::Bytes& payload);
  /// Appends a section without compression, in one piece or two: for frames, which are compressed already, and for
  /// contents that arrive after the size of the block was announced to other ranks.
  using Payload = std::span<const std::byte>;
  [[nodiscard]] bool add_raw(format::Section type, Payload first, Payload rest = {});
  /// Appends the table of the finished block to `out`. In the file payloads() follows it.
  [[nodiscard]] bool put_table(platform::Bytes& out) const;
  Payload payloads() const { return payloads_.view(); }

  /// Bytes of the finished block if `sections` more sections, of `payload` bytes together, are added raw.
  std::size_t size_with(std::size_t sections, std::size_t payload) const {
    return format::section_table_size(count_ + sections) + payloads_.size() + payload;
  }

 private:
  struct Entry {
    format::Section type;
    format::Encoding encoding;
    std::uint64_t offset;  ///< in `payloads_`
    std::uint64_t stored;
    std::uint64_t raw;
    std::uint64_t checksum;
  };
  /// A rank's block has each of its sections at most once, and no other block has more sections.
  static constexpr auto max_sections =
      static_cast<std::size_t>(format::newest_of_rank) - static_cast<std::size_t>(format::Section::Rank) + 1;
  bool append(format::Section type, format::Encoding encoding, Payload payload, std::size_t raw);

  Entry entries_[max_sections];
  std::size_t count_ = 0;
  platform::Bytes payloads_;
  Compressor compressor_;
};

}  // namespace refrain::record
