#include "offline/symbols/names_container.hpp"

#include <cstring>
#include <iterator>
#include <new>
#include <utility>
#include <zstd.h>

#include "format/bytes.hpp"
#include "format/checksum.hpp"
#include "format/names_file.hpp"

namespace refrain::symbols {
namespace {

/// Maximum size of all texts that are referred to: a text occurs once in the file, however often it is referred to.
constexpr std::size_t most_text = std::size_t{1} << 29;

std::vector<std::byte> compressed(std::span<const std::byte> contents, int level) {
  std::vector<std::byte> packed(ZSTD_compressBound(contents.size()));
  const std::size_t size = ZSTD_compress(packed.data(), packed.size(), contents.data(), contents.size(), level);
  if (ZSTD_isError(size)) throw std::bad_alloc();
  packed.resize(size);
  return packed;
}

experiment::BlockReader open_block(const experiment::InputFile& file) {
  const std::vector<std::byte> header = file.read(0, format::names_header_size, "header");
  format::ByteCursor in(header);
  const auto magic = in.raw(std::size(format::names_magic));
  if (std::memcmp(magic.data(), format::names_magic, magic.size()) != 0) file.fail(0, "is not a file of names");
  if (in.fixed<std::uint32_t>() != format::endianness_mark) file.fail(8, "wrong byte order");
  if (const auto major = in.fixed<std::uint16_t>(); major > format::names_major_version)
    file.fail(12, "written by a newer Refrain (version " + std::to_string(major) + " of the file)");
  in.fixed<std::uint16_t>();  // the minor version
  const auto header_size = in.fixed<std::uint32_t>();
  in.fixed<std::uint32_t>();
  const auto block_size = in.fixed<std::uint64_t>();
  const std::size_t checked = in.position();
  if (in.fixed<std::uint64_t>() != format::checksum(header.data(), checked))
    file.fail(0, "the header has a wrong checksum");
  return {file, header_size, block_size, "names"};
}

}  // namespace

template <class T>
void ByteList::add_fixed(T value) {
  std::byte bytes[sizeof value];
  format::store_little_endian(bytes, value);
  add(bytes);
}

void ByteList::add_varint(std::uint64_t value) {
  std::byte bytes[format::longest_varint];
  add({bytes, format::put_varint(bytes, value)});
}

void ByteList::add_text(std::string_view text) {
  add_varint(text.size());
  add(std::as_bytes(std::span(text)));
}

std::uint64_t TextsToWrite::number_of(const std::string& text) {
  const auto [at, is_new] = numbers_.try_emplace(text, numbers_.size());
  if (is_new) texts_.add_text(text);
  return at->second;
}

ByteList TextsToWrite::contents() const {
  ByteList bytes;
  bytes.add_varint(numbers_.size());
  bytes.add(texts_.view());
  return bytes;
}

std::vector<std::byte> container_of(const TextsToWrite& texts, format::Section type, const ByteList& contents,
                                    int level) {
  const std::pair<format::Section, ByteList> sections[] = {{format::Section::Texts, texts.contents()},
                                                           {type, contents}};
  constexpr std::size_t count = std::size(sections);
  ByteList block, payloads;
  block.add_fixed(static_cast<std::uint32_t>(count));
  block.add_fixed(static_cast<std::uint32_t>(format::section_entry_size));
  for (const auto& [section, raw] : sections) {
    const std::vector<std::byte> stored = compressed(raw.view(), level);
    block.add_fixed(static_cast<std::uint32_t>(section));
    block.add_fixed(format::section_version);
    block.add_fixed(static_cast<std::uint16_t>(format::Encoding::Zstd));
    block.add_fixed(std::uint64_t{format::section_table_size(count) + payloads.size()});
    block.add_fixed(std::uint64_t{stored.size()});
    block.add_fixed(std::uint64_t{raw.size()});
    block.add_fixed(format::checksum(stored.data(), stored.size()));
    payloads.add(stored);
  }
  block.add_fixed(format::checksum(block.view().data(), block.size()));
  block.add(payloads.view());

  ByteList file;
  file.add(std::as_bytes(std::span(format::names_magic)));
  file.add_fixed(format::endianness_mark);
  file.add_fixed(format::names_major_version);
  file.add_fixed(format::names_minor_version);
  file.add_fixed(static_cast<std::uint32_t>(format::names_header_size));
  file.add_fixed(std::uint32_t{0});
  file.add_fixed(std::uint64_t{block.size()});
  file.add_fixed(format::checksum(file.view().data(), file.size()));
  file.add(block.view());
  return file.take();
}

ContainerReader::ContainerReader(const experiment::InputFile& file, format::Section type, const char* name)
    : ContainerReader(open_block(file), type, name) {}

ContainerReader::ContainerReader(const experiment::BlockReader& block, format::Section type, const char* name)
    : in_(block.section(type, name)) {
  experiment::SectionReader texts = block.section(format::Section::Texts, "texts");
  for (std::size_t left = texts.count(1); left > 0; --left) texts_.emplace_back(texts.text());
  texts.finish();
}

const std::string& ContainerReader::text() {
  const std::uint64_t number = in_.varint();
  if (number >= texts_.size()) in_.refuse("refers to a text that is not there");
  text_size_ += texts_[number].size();
  if (text_size_ > most_text) in_.refuse("more text than a program has");
  return texts_[number];
}

}  // namespace refrain::symbols
