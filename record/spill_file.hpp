#pragma once
/// iterations-<rank>.refrain and events-<rank>.refrain: frames that a rank writes while it runs, one behind the other
/// (frames.hpp). The file is opened for each write. Runtime half; ordinary context, one thread at a time.
///
/// Nothing here prints, leaves a descriptor open or changes errno. Errors are errno values.

#include <cstdint>
#include <span>

#include "record/output_file.hpp"

namespace refrain::record {

class SpillFile {
 public:
  /// `name_begin` is the part of the name before the rank. It must outlive this object.
  explicit constexpr SpillFile(const char* name_begin) : name_begin_(name_begin) {}

  /// Bytes of complete frames in the file.
  std::uint64_t bytes() const { return bytes_; }

  /// Returns 0 or the errno value; then the next append overwrites what was written of this one.
  int append(const char* directory, std::int32_t rank, std::span<const std::byte> frames);
  /// Maps what was written. Returns 0 or the errno value.
  int map(const char* directory, std::int32_t rank, platform::MappedFile& file) const;
  void remove(const char* directory, std::int32_t rank);
  /// Moves the file of `from_rank` in `from` to `directory` as that of `rank`, also to another file system. Returns 0
  /// or the errno value; then the frames are lost.
  int move(const char* from, std::int32_t from_rank, const char* directory, std::int32_t rank);
  /// Makes the next frames replace the contents of the file.
  void begin_anew() { bytes_ = 0; }

 private:
  const char* name_begin_;
  std::uint64_t bytes_ = 0;
};

}  // namespace refrain::record
