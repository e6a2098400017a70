#include "record/spill_file.hpp"

#include <cerrno>
#include <fcntl.h>

namespace refrain::record {

int SpillFile::append(const char* directory, std::int32_t rank, std::span<const std::byte> frames) {
  const ErrnoKeeper keeper;
  const FileSizeSignalBlocker blocker;
  OutputFile file;
  if (!file.open(directory, RankFileName(name_begin_, rank).text, bytes_ == 0 ? O_CREAT | O_TRUNC : 0))
    return file.error;
  if (!file.write_at(frames.data(), frames.size(), bytes_)) {
    file.cut_at(bytes_);
    return file.error;
  }
  if (!file.close()) return file.error;
  bytes_ += frames.size();
  return 0;
}

int SpillFile::map(const char* directory, std::int32_t rank, platform::MappedFile& file) const {
  if (!map_file(directory, RankFileName(name_begin_, rank).text, file)) return file.error;
  return file.bytes().size() < bytes_ ? EIO : 0;
}

int SpillFile::move(const char* from, std::int32_t from_rank, const char* directory, std::int32_t rank) {
  if (bytes_ == 0) return 0;
  const ErrnoKeeper keeper;
  int error =
      rename_between(from, RankFileName(name_begin_, from_rank).text, directory, RankFileName(name_begin_, rank).text);
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
  remove_from(directory, RankFileName(name_begin_, rank).text);
  bytes_ = 0;
}

}  // namespace refrain::record
