#include "archive/block_reader.hpp"

#include <algorithm>
#include <memory>
#include <zstd.h>

#include "archive/checksum.hpp"

namespace refrain::archive {

namespace {

/// No section is larger when unpacked; a larger number is damage, or an attempt on the reader's memory.
constexpr std::uint64_t largest_section = std::uint64_t{1} << 30;
/// A block of zstd data has at most 128 KiB of contents and takes at least four bytes.
constexpr std::uint64_t most_compressed = 128 * 1024 / 4;

/// Grows the result with what really comes out, so that a wrong size costs no memory.
std::vector<std::byte> unpack(const std::vector<std::byte>& stored, std::uint64_t raw, std::string& error) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  std::vector<std::byte> out;
  ZSTD_inBuffer in{stored.data(), stored.size(), 0};
  std::size_t left = 1;
  while (left != 0) {
    const std::size_t begin = out.size();
    out.resize(std::min<std::uint64_t>(raw, begin + ZSTD_DStreamOutSize()));
    ZSTD_outBuffer chunk{out.data() + begin, out.size() - begin, 0};
    const std::size_t in_before = in.pos;
    left = ZSTD_decompressStream(context.get(), &chunk, &in);
    if (ZSTD_isError(left)) return error = ZSTD_getErrorName(left), out;
    out.resize(begin + chunk.pos);
    if (left != 0 && chunk.pos == 0 && in.pos == in_before) return error = "unexpected end of compressed data", out;
  }
  if (out.size() != raw || in.pos != in.size) error = "has not the size it says";
  return out;
}

}  // namespace

void SectionReader::refuse(const std::string& what) const {
  file_.fail(offset_, name_ + ": " + what + " (byte " + std::to_string(position()) + " of its contents)");
}

void SectionReader::finish() const {
  check();
  if (remaining() != 0) refuse("longer than it says");
}

BlockReader::BlockReader(const InputFile& file, std::uint64_t offset, std::uint64_t size, std::string owner)
    : file_(file), offset_(offset), size_(size), owner_(std::move(owner)) {
  if (size < format::section_table_size(0)) file.fail(offset, owner_ + ": too short for a table of sections");
  if (offset > file.size() || size > file.size() - offset)
    file.fail(offset, owner_ + ": goes beyond the end of the file (" + std::to_string(file.size()) +
                          " bytes): it is truncated or damaged");
  const auto head = file.read(offset, format::section_table_head, owner_);
  ByteCursor in(head);
  const auto count = in.fixed<std::uint32_t>();
  const auto entry_size = in.fixed<std::uint32_t>();
  const std::uint64_t room = size - format::section_table_head - format::checksum_size;
  if (entry_size < format::section_entry_size || count > room / entry_size)
    file.fail(offset, owner_ + ": damaged table of sections");
  const std::uint64_t table_size = format::section_table_head + std::uint64_t{count} * entry_size;
  const auto table = file.read(offset, table_size + format::checksum_size, owner_);
  if (load_little_endian<std::uint64_t>(table.data() + table_size) != checksum(table.data(), table_size))
    file.fail(offset, owner_ + ": the table of sections has a wrong checksum");

  for (std::uint32_t i = 0; i < count; ++i) {
    ByteCursor entry({table.data() + format::section_table_head + std::uint64_t{i} * entry_size, entry_size});
    Entry e;
    e.type = entry.fixed<std::uint32_t>();
    e.version = entry.fixed<std::uint16_t>();
    e.encoding = entry.fixed<std::uint16_t>();
    e.offset = entry.fixed<std::uint64_t>();
    e.stored = entry.fixed<std::uint64_t>();
    e.raw = entry.fixed<std::uint64_t>();
    e.checksum = entry.fixed<std::uint64_t>();
    entries_.push_back(e);
  }
}

bool BlockReader::has(format::Section type) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& e) { return e.type == static_cast<std::uint32_t>(type); });
}

SectionReader BlockReader::section(format::Section type, const char* section_name) const {
  const std::string name = owner_ + ", section '" + section_name + "'";
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& e) { return e.type == static_cast<std::uint32_t>(type); });
  if (found == entries_.end()) file_.fail(offset_, name + ": is missing");
  if (found->version > format::section_version)
    file_.fail(offset_, name + ": written by a newer Refrain (version " + std::to_string(found->version) + ")");
  if (found->offset > size_ || found->stored > size_ - found->offset)
    file_.fail(offset_, name + ": does not lie in its block");
  const std::uint64_t at = offset_ + found->offset;
  auto stored = file_.read(at, found->stored, name);
  if (checksum(stored.data(), stored.size()) != found->checksum) file_.fail(at, name + ": wrong checksum");
  switch (static_cast<format::Encoding>(found->encoding)) {
    case format::Encoding::Raw:
      if (found->raw != found->stored) file_.fail(at, name + ": two different sizes");
      return {file_, name, at, std::move(stored)};
    case format::Encoding::Zstd: {
      if (found->raw > largest_section || found->raw / most_compressed > found->stored)
        file_.fail(at, name + ": cannot be unpacked to " + std::to_string(found->raw) + " bytes");
      std::string error;
      auto contents = unpack(stored, found->raw, error);
      if (!error.empty()) file_.fail(at, name + ": cannot be unpacked: " + error);
      return {file_, name, at, std::move(contents)};
    }
  }
  file_.fail(at, name + ": unknown encoding " + std::to_string(found->encoding));
}

}  // namespace refrain::archive
