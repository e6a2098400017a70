#pragma once
/// The common format of the files of names and of functions of an experiment: a header, and a block like those of
/// profiles, in which each text occurs once. docs/file-format.md is the specification.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/profile_file.hpp"
#include "offline/experiment/block_reader.hpp"

namespace refrain::symbols {

/// Numbers and texts as bytes (format/bytes.hpp).
class ByteList {
 public:
  void add(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void add_byte(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  template <class T>
  void add_fixed(T value);
  void add_varint(std::uint64_t value);
  void add_text(std::string_view text);

  std::size_t size() const { return bytes_.size(); }
  std::span<const std::byte> view() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// The texts of a file, each once, by number. Number 0 is the empty text.
class TextsToWrite {
 public:
  TextsToWrite() { number_of(""); }
  std::uint64_t number_of(const std::string& text);
  /// The contents of the section of texts.
  ByteList contents() const;

 private:
  std::unordered_map<std::string, std::uint64_t> numbers_;
  ByteList texts_;
};

/// A whole file: the texts, and the contents that refer to them. `level`: compression level of zstd.
std::vector<std::byte> container_of(const TextsToWrite& texts, format::Section type, const ByteList& contents,
                                    int level);

/// Throws ReadError, also if a newer Refrain wrote the file: these files can be done without.
class ContainerReader {
 public:
  ContainerReader(const experiment::InputFile& file, format::Section type, const char* name);

  experiment::SectionReader& in() { return in_; }
  /// The text whose number is next in the input.
  const std::string& text();

 private:
  explicit ContainerReader(const experiment::BlockReader& block, format::Section type, const char* name);

  experiment::SectionReader in_;
  std::vector<std::string> texts_;
  std::size_t text_size_ = 0;
};

}  // namespace refrain::symbols
