#include "record/spill_file.hpp"

#include <cerrno>
#include <fcntl.h>

#include "config/line.hpp"
#include "format/profile_file.hpp"

namespace refrain::record {
namespace {

struct Name {
  char text[48];
  Name(const char* begin, std::int32_t rank) {
    config::Line(text, sizeof text) << begin << std::int64_t{rank} << format::spill_name_end;
  }
};

}  // namespace

int SpillFile::append(const char* directory, std::int32_t rank, std::span<const std::byte> frames) {
  const ErrnoKeeper keeper;
  const FileSizeSignalBlocker blocker;
  OutputFile file;
  if (!file.open(directory, Name(name_begin_, rank).text, bytes_ == 0 ? O_CREAT | O_TRUNC : 0)) return file.error;
  if (!file.write_at(frames.data(), frames.size(), bytes_)) {
    file.cut_at(bytes_);
    return file.error;
  }
  if (!file.close()) return file.error;
  bytes_ += frames.size();
  return 0;
}

int SpillFile::map(const char* directory, std::int32_t rank, platform::MappedFile& file) const {
  if (!map_file(directory, Name(name_begin_, rank).text, file)) return file.error;
  return file.bytes().size() < bytes_ ? EIO : 0;
}

int SpillFile::move(const char* from, std::int32_t from_rank, const char* directory, std::int32_t rank) {
  if (bytes_ == 0) return 0;
  const ErrnoKeeper keeper;
  int error = rename_between(from, Name(name_begin_, from_rank).text, directory, Name(name_begin_, rank).text);
  if (error == 0) return 0;
  platform::MappedFile frames;
  const std::uint64_t bytes = bytes_;
  error = map(from, from_rank, frames);
  bytes_ = 0;
  return error != 0 ? error : append(directory, rank, frames.bytes().first(bytes));
}

void SpillFile::remove(const char* directory, std::int32_t rank) {
  if (bytes_ == 0) return;
  const ErrnoKeeper keeper;
  remove_from(directory, Name(name_begin_, rank).text);
  bytes_ = 0;
}

}  // namespace refrain::record
