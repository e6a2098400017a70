#pragma once
/// The files of an OTF2 archive.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "offline/trace/otf2_bytes.hpp"

namespace refrain::trace {

/// The events of a location, or definitions. Each chunk can be read on its own, with some kilobytes of it in memory.
/// The file is open only while bytes are read, so that there may be more files than descriptors.
class Otf2File {
 public:
  Otf2File(std::filesystem::path path, std::uint64_t chunk_size);

  const std::filesystem::path& path() const { return path_; }
  bool is_there() const { return size_ > 0; }
  std::uint64_t chunks() const { return (size_ + chunk_size_ - 1) / chunk_size_; }
  /// False: there is no such chunk, or its head is damaged.
  bool open_chunk(std::uint64_t chunk);
  /// Numbers of the first and last event of the open chunk, from 1 on; 0 for definitions.
  std::uint64_t first_event() const { return first_event_; }
  std::uint64_t last_event() const { return last_event_; }
  std::uint64_t chunk() const { return chunk_; }
  /// The time at which a chunk begins; false: the chunk is damaged.
  bool time_of_chunk(std::uint64_t chunk, std::uint64_t& time);

  /// The next bytes of the chunk: at least `size`, or all that are left.
  Otf2Bytes ahead(std::size_t size) {
    if (static_cast<std::size_t>(end_ - at_) < size && next_in_file_ < chunk_end_) [[unlikely]]
      read_more(size);
    return {at_, end_, is_foreign_};
  }
  /// The record whose size comes next in `in`, which begins `in_front` bytes into what ahead() returned. The file goes
  /// on after the record. Not good: it ends beyond the chunk.
  Otf2Bytes record_ahead(Otf2Bytes in, std::size_t in_front);
  /// Consumes everything before `place`, which lies in what ahead() returned last.
  void skip_to(const std::byte* place) { at_ = place; }
  std::uint64_t position() const { return next_in_file_ - static_cast<std::uint64_t>(end_ - at_); }

 private:
  void read_more(std::size_t size);
  /// Reads at most `size` bytes at `offset`, and returns how many there were.
  std::size_t read_at(std::uint64_t offset, std::byte* to, std::size_t size) const;

  std::filesystem::path path_;
  std::uint64_t size_ = 0, chunk_size_, chunk_ = 0;
  std::uint64_t first_event_ = 0, last_event_ = 0;
  std::uint64_t next_in_file_ = 0, chunk_end_ = 0;
  std::vector<std::byte> window_;
  const std::byte *at_ = nullptr, *end_ = nullptr;
  bool is_foreign_ = false;
};

}  // namespace refrain::trace
