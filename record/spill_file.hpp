#pragma once
/// iterations-<rank>.refrain and events-<rank>.refrain: what a rank writes while it runs, one frame behind the other
/// (frames.hpp). Runtime half; ordinary context, one thread at a time. The file is opened
/// for each write.
///
/// Nothing here prints, leaves a descriptor open or changes errno. Errors: an errno value.

#include <cstdint>
#include <span>

#include "record/output_file.hpp"

namespace refrain::record {

class SpillFile {
 public:
  /// `name_begin` stands before the rank; it outlives this.
  explicit constexpr SpillFile(const char* name_begin) : name_begin_(name_begin) {}

  /// Bytes that are whole in the file.
  std::uint64_t bytes() const { return bytes_; }

  /// Returns 0 or the errno value; what failed is overwritten by the next one.
  int append(const char* directory, std::int32_t rank, std::span<const std::byte> frames);
  /// Maps what was written. Returns 0 or the errno value.
  int map(const char* directory, std::int32_t rank, platform::MappedFile& file) const;
  void remove(const char* directory, std::int32_t rank);
  /// The file of `from_rank` in `from` becomes that of `rank` in `directory`, also on another file system. Returns 0 or
  /// the errno value; then the frames are lost.
  int move(const char* from, std::int32_t from_rank, const char* directory, std::int32_t rank);
  /// The next frames replace what is in the file.
  void begin_anew() { bytes_ = 0; }

 private:
  const char* name_begin_;
  std::uint64_t bytes_ = 0;
};

}  // namespace refrain::record
