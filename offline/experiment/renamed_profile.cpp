#include "offline/experiment/renamed_profile.hpp"

#include <fstream>
#include <new>
#include <numeric>
#include <span>
#include <utility>
#include <vector>
#include <zstd.h>

#include "format/bytes.hpp"
#include "format/checksum.hpp"
#include "offline/experiment/block_reader.hpp"
#include "offline/experiment/profile_file.hpp"
#include "offline/experiment/unpack.hpp"

namespace refrain::experiment {
namespace {

using Bytes = std::vector<std::byte>;

// Offsets of fields in the header and in an entry of the rank table (docs/file-format.md).
constexpr std::size_t header_size_at = 16, entries_at = 28, rank_table_at = 32, definitions_at = 40,
                      definitions_size_at = 48, header_checksum_at = 56, entry_offset_at = 8, entry_block_size_at = 16,
                      entry_checksum_at = 24;

bool is_known_section(std::uint32_t type) {
  constexpr std::pair<format::Section, format::Section> known[] = {{format::Section::Writer, format::Section::Paths},
                                                                   {format::Section::Rank, format::Section::Slopes},
                                                                   {format::Section::Extra, format::newest_of_rank}};
  for (const auto& [first, last] : known)
    if (type >= static_cast<std::uint32_t>(first) && type <= static_cast<std::uint32_t>(last)) return true;
  return false;
}

template <class T>
void put_fixed(Bytes& to, T value) {
  std::byte raw[sizeof value];
  format::store_little_endian(raw, value);
  to.insert(to.end(), raw, raw + sizeof value);
}

Bytes zstd_frame_of(const Bytes& contents) {
  constexpr int level = 3;
  Bytes frame(ZSTD_compressBound(contents.size()));
  const std::size_t size = ZSTD_compress(frame.data(), frame.size(), contents.data(), contents.size(), level);
  if (ZSTD_isError(size)) throw std::bad_alloc();
  frame.resize(size);
  return frame;
}

/// All names that readers find in the file, at any depth.
std::shared_ptr<NamePlaces> find_names(const std::filesystem::path& path) {
  auto names = std::make_shared<NamePlaces>();
  const InputFile file(path, std::make_shared<DamageLog>(true), names);
  const ProfileFile profile(file);
  std::vector<std::uint32_t> paths(profile.definitions().paths.size());
  std::iota(paths.begin(), paths.end(), 0U);
  for (const ProfileFile::Entry& entry : profile.entries())
    for (const Depth depth : {Depth::Run, Depth::Loops, Depth::Whole})
      (void)profile.read(entry, depth, profile.definitions(), paths);
  return names;
}

class RenamingWriter {
 public:
  RenamingWriter(const std::filesystem::path& from, const Rename& rename, const std::filesystem::path& to)
      : names_(find_names(from)), file_(from), rename_(rename) {
    out_.exceptions(std::ios::failbit | std::ios::badbit);
    out_.open(to, std::ios::binary | std::ios::trunc);
  }

  void write() {
    Bytes header = file_.read(0, format::header_size, "header");
    const auto entries = format::load_little_endian<std::uint32_t>(&header[entries_at]);
    const auto table_at = format::load_little_endian<std::uint64_t>(&header[rank_table_at]);
    Bytes table = file_.read(table_at, std::uint64_t{entries} * format::rank_entry_size, "rank table");
    // The header and the rank table, which say where the blocks are, are written last.
    end_ = header.size() + table.size();
    out_.seekp(static_cast<std::streamoff>(end_));
    move_block(header, definitions_at, definitions_size_at);
    for (std::size_t i = 0; i < entries; ++i) {
      const std::size_t at = i * format::rank_entry_size;
      if (format::load_little_endian<std::uint64_t>(&table[at + entry_block_size_at]) == 0) continue;  // not written
      move_block(table, at + entry_offset_at, at + entry_block_size_at);
      format::store_little_endian(&table[at + entry_checksum_at], format::checksum(&table[at], entry_checksum_at));
    }
    format::store_little_endian(&header[header_size_at], static_cast<std::uint32_t>(format::header_size));
    format::store_little_endian(&header[rank_table_at], std::uint64_t{format::header_size});
    format::store_little_endian(&header[header_checksum_at], format::checksum(header.data(), header_checksum_at));
    out_.seekp(0);
    append(header);
    append(table);
    out_.close();
  }

 private:
  /// Writes the block whose offset and size are at these places of `fields`, and stores the new ones there.
  void move_block(Bytes& fields, std::size_t offset_at, std::size_t size_at) {
    const Bytes block = renamed_block(format::load_little_endian<std::uint64_t>(&fields[offset_at]),
                                      format::load_little_endian<std::uint64_t>(&fields[size_at]));
    append(block);
    format::store_little_endian(&fields[offset_at], end_);
    format::store_little_endian(&fields[size_at], std::uint64_t{block.size()});
    end_ += block.size();
  }

  Bytes renamed_block(std::uint64_t offset, std::uint64_t size) const {
    const BlockReader block(file_, offset, size, "a block");
    std::vector<std::pair<BlockReader::Entry, Bytes>> sections;
    for (BlockReader::Entry entry : block.entries()) {
      if (!is_known_section(entry.type)) continue;
      const std::uint64_t at = offset + entry.offset;
      Bytes stored = file_.read(at, entry.stored, "a section");
      if (const auto* places = names_->of(at)) {
        const auto encoding = static_cast<format::Encoding>(entry.encoding);
        Bytes contents = renamed(unpack(file_, at, "a section", encoding, std::move(stored), entry.raw), *places);
        const bool is_packed = encoding == format::Encoding::Zstd && contents.size() <= format::largest_compressed;
        entry.encoding = static_cast<std::uint16_t>(is_packed ? format::Encoding::Zstd : format::Encoding::Raw);
        entry.raw = contents.size();
        stored = is_packed ? zstd_frame_of(contents) : std::move(contents);
        entry.stored = stored.size();
        entry.checksum = format::checksum(stored.data(), stored.size());
      }
      sections.emplace_back(entry, std::move(stored));
    }
    Bytes made;
    put_fixed(made, static_cast<std::uint32_t>(sections.size()));
    put_fixed(made, static_cast<std::uint32_t>(format::section_entry_size));
    std::uint64_t place = format::section_table_size(sections.size());
    for (auto& [entry, stored] : sections) {
      put_fixed(made, entry.type);
      put_fixed(made, entry.version);
      put_fixed(made, entry.encoding);
      for (const std::uint64_t value : {place, entry.stored, entry.raw, entry.checksum}) put_fixed(made, value);
      place += entry.stored;
    }
    put_fixed(made, format::checksum(made.data(), made.size()));
    for (auto& [entry, stored] : sections) {
      made.insert(made.end(), stored.begin(), stored.end());
      Bytes().swap(stored);
    }
    return made;
  }

  Bytes renamed(const Bytes& contents, const NamePlaces::OfSection& places) const {
    Bytes made;
    std::size_t done = 0;
    const auto copy_to = [&](std::size_t end) {
      made.insert(made.end(), contents.begin() + static_cast<std::ptrdiff_t>(done),
                  contents.begin() + static_cast<std::ptrdiff_t>(end));
      done = end;
    };
    for (const auto& [begin, place] : places) {
      copy_to(begin);
      const std::span<const std::byte> all(contents);
      format::ByteCursor in{all.subspan(begin, place.end - begin)};
      const std::string name = rename_(place.kind, in.text());
      std::byte length[format::longest_varint];
      made.insert(made.end(), length, length + format::put_varint(length, name.size()));
      const auto bytes = std::as_bytes(std::span(name));
      made.insert(made.end(), bytes.begin(), bytes.end());
      done = place.end;
    }
    copy_to(contents.size());
    return made;
  }

  void append(const Bytes& bytes) {
    out_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  const std::shared_ptr<const NamePlaces> names_;
  const InputFile file_;
  const Rename& rename_;
  std::ofstream out_;
  std::uint64_t end_ = 0;
};

}  // namespace

void write_renamed(const std::filesystem::path& from, const Rename& rename, const std::filesystem::path& to) {
  RenamingWriter(from, rename, to).write();
}

}  // namespace refrain::experiment
