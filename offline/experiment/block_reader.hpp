#pragma once
/// Reads a block of the profile file: finds sections by type, checks them and unpacks them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/bytes.hpp"
#include "format/profile_file.hpp"
#include "offline/experiment/input_file.hpp"
#include "offline/experiment/name_places.hpp"

namespace refrain::experiment {

/// Decodes the contents of a section.
class SectionReader : public format::ByteCursor {
 public:
  SectionReader(const InputFile& file, std::string name, std::uint64_t offset, std::vector<std::byte> contents)
      : format::ByteCursor(contents),
        file_(file),
        name_(std::move(name)),
        offset_(offset),
        contents_(std::move(contents)) {}
  // The cursor looks into `contents_`, whose elements stay where they are when the vector moves.
  SectionReader(SectionReader&&) = default;

  /// Reads a name chosen by the program, its user or its machine; text() reads words of the format.
  std::string_view name(NameKind kind);
  /// Throws ReadError when any read so far has failed.
  void check() const {
    if (failed()) refuse("malformed or shorter than it says");
  }
  [[noreturn]] void refuse(const std::string& what) const;
  /// Throws ReadError as check() does, and when bytes are left over.
  void finish() const;

 private:
  const InputFile& file_;
  std::string name_;
  std::uint64_t offset_;
  std::vector<std::byte> contents_;
};

class BlockReader {
 public:
  /// Reads and checks the table of the block at [offset, offset + size). `owner` names it in messages: "definitions",
  /// "rank 3". Throws ReadError.
  BlockReader(const InputFile& file, std::uint64_t offset, std::uint64_t size, std::string owner);

  bool has(format::Section type) const;
  /// Reads a required section. Throws ReadError when it is missing, damaged, or of a newer version.
  SectionReader section(format::Section type, const char* name) const;
  /// Checks a section whose contents are not needed. Throws as section() does, but not for damage that only unpacking
  /// finds.
  void check(format::Section type, const char* name) const;
  /// Position in the file of the contents of a required section that is stored raw. Does not verify its checksum.
  struct Place {
    std::uint64_t offset, size;
  };
  Place place(format::Section type, const char* name) const;

  /// An entry of the block's section table.
  struct Entry {
    std::uint32_t type;
    std::uint16_t version, encoding;
    std::uint64_t offset, stored, raw, checksum;
  };
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  const Entry& entry(format::Section type, const std::string& name) const;
  std::string name_of(const char* section) const { return owner_ + ", section '" + section + "'"; }
  /// The bytes of the section as they are stored. Throws ReadError when its checksum is wrong.
  std::vector<std::byte> stored(const Entry& section, const std::string& name) const;
  /// Reads `size` bytes from byte `at` of the block. Throws ReadError.
  std::vector<std::byte> read(std::uint64_t at, std::uint64_t size, const std::string& what) const;

  const InputFile& file_;
  std::uint64_t offset_, size_;
  std::string owner_;
  std::vector<std::byte> whole_;  ///< contents of a small block, read with one system call; else empty
  std::vector<Entry> entries_;
};

}  // namespace refrain::experiment
