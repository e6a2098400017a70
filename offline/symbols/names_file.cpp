#include "offline/symbols/names_file.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <string_view>
#include <unordered_map>
#include <zstd.h>

#include "format/bytes.hpp"
#include "format/checksum.hpp"
#include "format/names_file.hpp"
#include "format/profile_file.hpp"
#include "offline/experiment/block_reader.hpp"
#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/whole_file.hpp"

namespace refrain::symbols {
namespace {

using Buffer = std::vector<std::byte>;

/// Of the texts of all frames together: a text stands once in the file, however often it is referred to.
constexpr std::size_t most_text = std::size_t{1} << 29;

void append(Buffer& to, std::span<const std::byte> bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

template <class T>
void append_fixed(Buffer& to, T value) {
  std::byte bytes[sizeof value];
  format::store_little_endian(bytes, value);
  append(to, bytes);
}

void append_varint(Buffer& to, std::uint64_t value) {
  std::byte bytes[format::longest_varint];
  append(to, {bytes, format::put_varint(bytes, value)});
}

void append_text(Buffer& to, std::string_view text) {
  append_varint(to, text.size());
  append(to, std::as_bytes(std::span(text)));
}

/// Each text once, by its number. Number 0 is the empty one.
class Texts {
 public:
  Texts() { number("", 0); }

  std::uint64_t of(const std::string& text) { return number(text, numbers_.size()); }
  Buffer contents() const {
    Buffer bytes;
    append_varint(bytes, numbers_.size());
    append(bytes, texts_);
    return bytes;
  }

 private:
  std::uint64_t number(const std::string& text, std::uint64_t next) {
    const auto [at, is_new] = numbers_.try_emplace(text, next);
    if (is_new) append_text(texts_, text);
    return at->second;
  }

  std::unordered_map<std::string, std::uint64_t> numbers_;
  Buffer texts_;
};

void append_frame(Buffer& to, const SourceFrame& frame, std::uint64_t address, Texts& texts) {
  to.push_back(static_cast<std::byte>((frame.inlined ? format::name_is_inlined : 0) |
                                      (frame.part ? format::name_is_part : 0) |
                                      (frame.named ? format::name_is_known : 0) |
                                      (frame.full ? format::name_is_full : 0)));
  append_varint(to, frame.named ? texts.of(frame.function)
                                : format::zigzag(static_cast<std::int64_t>(address - frame.begin)));
  append_varint(to, texts.of(frame.file));
  append_varint(to, static_cast<std::uint64_t>(std::max(frame.line, 0)));
}

void append_module(Buffer& to, const ModuleNames& module, Texts& texts) {
  append_varint(to, texts.of(module.path));
  append_varint(to, texts.of(module.build_id));
  to.push_back(static_cast<std::byte>(module.source));
  append_varint(to, texts.of(module.why));
  append_varint(to, module.frames.size());
  std::uint64_t last = 0;
  for (const auto& [place, frames] : module.frames) {
    append_varint(to, place.address - last);
    last = place.address;
    to.push_back(static_cast<std::byte>(place.lookup));
    append_varint(to, frames.size());
    for (const SourceFrame& frame : frames) append_frame(to, frame, place.address, texts);
  }
}

struct NamesSection {
  format::Section type;
  Buffer contents;
};

Buffer compressed(const Buffer& contents) {
  constexpr int level = 9;
  Buffer packed(ZSTD_compressBound(contents.size()));
  const std::size_t size = ZSTD_compress(packed.data(), packed.size(), contents.data(), contents.size(), level);
  if (ZSTD_isError(size)) throw std::bad_alloc();
  packed.resize(size);
  return packed;
}

/// A block as profiles have them.
Buffer block_of(std::span<const NamesSection> sections) {
  Buffer table, payloads;
  append_fixed(table, static_cast<std::uint32_t>(sections.size()));
  append_fixed(table, static_cast<std::uint32_t>(format::section_entry_size));
  for (const NamesSection& of : sections) {
    const Buffer stored = compressed(of.contents);
    append_fixed(table, static_cast<std::uint32_t>(of.type));
    append_fixed(table, format::section_version);
    append_fixed(table, static_cast<std::uint16_t>(format::Encoding::Zstd));
    append_fixed(table, std::uint64_t{format::section_table_size(sections.size()) + payloads.size()});
    append_fixed(table, std::uint64_t{stored.size()});
    append_fixed(table, std::uint64_t{of.contents.size()});
    append_fixed(table, format::checksum(stored.data(), stored.size()));
    append(payloads, stored);
  }
  append_fixed(table, format::checksum(table.data(), table.size()));
  append(table, payloads);
  return table;
}

class NamesReader {
 public:
  explicit NamesReader(const experiment::BlockReader& block) : in_(block.section(format::Section::Names, "names")) {
    experiment::SectionReader texts = block.section(format::Section::Texts, "texts");
    for (std::size_t left = texts.count(1); left > 0; --left) texts_.emplace_back(texts.text());
    texts.finish();
  }

  std::vector<ModuleNames> modules() {
    std::vector<ModuleNames> modules;
    for (std::size_t left = in_.count(least_module_size); left > 0; --left) {
      modules.push_back(module());
      in_.check();
    }
    in_.finish();
    return modules;
  }

 private:
  static constexpr std::size_t least_module_size = 5, least_entry_size = 7, least_frame_size = 4;

  ModuleNames module() {
    ModuleNames module;
    module.path = text();
    module.build_id = text();
    const auto source = in_.fixed<std::uint8_t>();
    if (source > static_cast<std::uint8_t>(NameSource::Debug)) in_.refuse("unknown source of names");
    module.source = static_cast<NameSource>(source);
    module.why = experiment::clean_text(text());
    Place place;
    for (std::size_t left = in_.count(least_entry_size); left > 0; --left) {
      place.address += in_.varint();
      const auto lookup = in_.fixed<std::uint8_t>();
      if (lookup > static_cast<std::uint8_t>(Lookup::Entry)) in_.refuse("unknown kind of address");
      place.lookup = static_cast<Lookup>(lookup);
      std::vector<SourceFrame> frames(in_.count(least_frame_size));
      for (SourceFrame& frame : frames) frame = this->frame(place.address);
      in_.check();
      if (frames.empty()) in_.refuse("an address without a function");
      if (!module.frames.emplace(place, std::move(frames)).second) in_.refuse("an address that occurs twice");
    }
    return module;
  }

  SourceFrame frame(std::uint64_t address) {
    SourceFrame frame;
    const auto bits = in_.fixed<std::uint8_t>();
    frame.inlined = bits & format::name_is_inlined;
    frame.part = bits & format::name_is_part;
    frame.named = bits & format::name_is_known;
    frame.full = bits & format::name_is_full;
    if (frame.named) frame.function = experiment::clean_text(text());
    else frame.begin = address - static_cast<std::uint64_t>(in_.signed_varint());
    frame.file = experiment::clean_text(text());
    frame.line = static_cast<int>(std::min<std::uint64_t>(in_.varint(), std::numeric_limits<int>::max()));
    return frame;
  }

  std::string text() {
    const std::uint64_t number = in_.varint();
    if (number >= texts_.size()) in_.refuse("refers to a text that is not there");
    text_size_ += texts_[number].size();
    if (text_size_ > most_text) in_.refuse("more text than a program has");
    return texts_[number];
  }

  experiment::SectionReader in_;
  std::vector<std::string> texts_;
  std::size_t text_size_ = 0;
};

}  // namespace

std::vector<ModuleNames> parse_names(const experiment::InputFile& file) {
  const Buffer header = file.read(0, format::names_header_size, "header");
  format::ByteCursor in(header);
  const auto magic = in.raw(std::size(format::names_magic));
  if (std::memcmp(magic.data(), format::names_magic, magic.size()) != 0) file.fail(0, "is not a file of names");
  if (in.fixed<std::uint32_t>() != format::endianness_mark) file.fail(8, "wrong byte order");
  if (const auto major = in.fixed<std::uint16_t>(); major > format::names_major_version)
    file.fail(12, "written by a newer Refrain (version " + std::to_string(major) + " of the file)");
  in.fixed<std::uint16_t>();
  const auto header_size = in.fixed<std::uint32_t>();
  in.fixed<std::uint32_t>();
  const auto block_size = in.fixed<std::uint64_t>();
  const std::size_t checked = in.position();
  if (in.fixed<std::uint64_t>() != format::checksum(header.data(), checked))
    file.fail(0, "the header has a wrong checksum");
  return NamesReader(experiment::BlockReader(file, header_size, block_size, "names")).modules();
}

std::vector<std::byte> bytes_of_names(std::span<const ModuleNames> modules) {
  Texts texts;
  Buffer names;
  append_varint(names, modules.size());
  for (const ModuleNames& module : modules) append_module(names, module, texts);
  const NamesSection sections[] = {{format::Section::Texts, texts.contents()}, {format::Section::Names, std::move(names)}};
  const Buffer block = block_of(sections);

  Buffer file;
  append(file, std::as_bytes(std::span(format::names_magic)));
  append_fixed(file, format::endianness_mark);
  append_fixed(file, format::names_major_version);
  append_fixed(file, format::names_minor_version);
  append_fixed(file, static_cast<std::uint32_t>(format::names_header_size));
  append_fixed(file, std::uint32_t{0});
  append_fixed(file, std::uint64_t{block.size()});
  append_fixed(file, format::checksum(file.data(), file.size()));
  append(file, block);
  return file;
}

void write_names(const std::filesystem::path& experiment, std::span<const ModuleNames> modules) {
  experiment::write_whole_file(experiment / names_file_name, bytes_of_names(modules));
}

}  // namespace refrain::symbols
