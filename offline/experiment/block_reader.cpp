#include "offline/experiment/block_reader.hpp"

#include <algorithm>

#include "format/checksum.hpp"
#include "offline/experiment/unpack.hpp"

namespace refrain::experiment {

void SectionReader::refuse(const std::string& what) const {
  file_.fail(offset_, name_ + ": " + what + " (byte " + std::to_string(position()) + " of its contents)");
}

std::string_view SectionReader::name(NameKind kind) {
  const std::size_t begin = position();
  const std::string_view found = text();
  if (NamePlaces* const places = file_.source()->names.get(); places && !failed())
    places->add(offset_, begin, {position(), kind});
  return found;
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
  constexpr std::uint64_t most_at_once = 64 * 1024;
  if (size <= most_at_once) whole_ = file.read(offset, size, owner_);
  const auto head = read(0, format::section_table_head, owner_);
  format::ByteCursor in(head);
  const auto count = in.fixed<std::uint32_t>();
  const auto entry_size = in.fixed<std::uint32_t>();
  const std::uint64_t room = size - format::section_table_head - format::checksum_size;
  if (entry_size < format::section_entry_size || count > room / entry_size)
    file.fail(offset, owner_ + ": damaged table of sections");
  const std::uint64_t table_size = format::section_table_head + std::uint64_t{count} * entry_size;
  const auto table = read(0, table_size + format::checksum_size, owner_);
  if (format::load_little_endian<std::uint64_t>(table.data() + table_size) !=
      format::checksum(table.data(), table_size))
    file.fail(offset, owner_ + ": the table of sections has a wrong checksum");

  entries_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    format::ByteCursor entry({table.data() + format::section_table_head + std::uint64_t{i} * entry_size, entry_size});
    entries_.push_back({.type = entry.fixed<std::uint32_t>(),
                        .version = entry.fixed<std::uint16_t>(),
                        .encoding = entry.fixed<std::uint16_t>(),
                        .offset = entry.fixed<std::uint64_t>(),
                        .stored = entry.fixed<std::uint64_t>(),
                        .raw = entry.fixed<std::uint64_t>(),
                        .checksum = entry.fixed<std::uint64_t>()});
  }
}

std::vector<std::byte> BlockReader::read(std::uint64_t at, std::uint64_t size, const std::string& what) const {
  if (whole_.empty()) return file_.read(offset_ + at, size, what);
  const auto begin = whole_.begin() + static_cast<std::ptrdiff_t>(at);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

bool BlockReader::has(format::Section type) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& e) { return e.type == static_cast<std::uint32_t>(type); });
}

const BlockReader::Entry& BlockReader::entry(format::Section type, const std::string& name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& e) { return e.type == static_cast<std::uint32_t>(type); });
  if (found == entries_.end()) file_.fail(offset_, name + ": is missing");
  if (found->version > format::section_version)
    file_.fail(offset_, name + ": written by a newer Refrain (version " + std::to_string(found->version) + ")");
  if (found->offset > size_ || found->stored > size_ - found->offset)
    file_.fail(offset_, name + ": does not lie in its block");
  return *found;
}

std::vector<std::byte> BlockReader::stored(const Entry& section, const std::string& name) const {
  std::vector<std::byte> bytes = read(section.offset, section.stored, name);
  if (format::checksum(bytes.data(), bytes.size()) != section.checksum)
    file_.fail(offset_ + section.offset, name + ": wrong checksum");
  return bytes;
}

SectionReader BlockReader::section(format::Section type, const char* section_name) const {
  const std::string name = name_of(section_name);
  const Entry& found = entry(type, name);
  const std::uint64_t at = offset_ + found.offset;
  const auto encoding = static_cast<format::Encoding>(found.encoding);
  return {file_, name, at, unpack(file_, at, name, encoding, stored(found, name), found.raw)};
}

void BlockReader::check(format::Section type, const char* section_name) const {
  const std::string name = name_of(section_name);
  static_cast<void>(stored(entry(type, name), name));
}

BlockReader::Place BlockReader::place(format::Section type, const char* section_name) const {
  const std::string name = name_of(section_name);
  const Entry& found = entry(type, name);
  if (static_cast<format::Encoding>(found.encoding) != format::Encoding::Raw || found.raw != found.stored)
    file_.fail(offset_, name + ": is compressed as a whole");
  return {offset_ + found.offset, found.stored};
}

}  // namespace refrain::experiment
