#include "offline/experiment/input_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/folder.hpp"

namespace refrain::experiment {

void InputFile::open(FileSource& found) {
  constexpr int how = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  descriptor_ = ::open(found.path.c_str(), how);
  std::optional<TarMember> packed;
  if (descriptor_ < 0 && errno == ENOTDIR) {
    packed = packed_file(found.path);
    if (!packed) throw ReadError(found.name + ": cannot be opened: " + std::strerror(ENOENT));
    descriptor_ = ::open(found.path.parent_path().c_str(), how);
  }
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    const int error = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    throw ReadError(found.name + ": cannot be opened: " + std::strerror(error));
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw ReadError(found.name + ": is not a file");
  }
  const auto whole = static_cast<std::uint64_t>(status.st_size);
  begin_ = packed ? std::min(packed->offset, whole) : 0;
  size_ = packed ? std::min(packed->size, whole - begin_) : whole;
  found.device = status.st_dev;
  found.number = status.st_ino;
}

InputFile::InputFile(const std::filesystem::path& path, std::shared_ptr<DamageLog> damage,
                     std::shared_ptr<NamePlaces> names) {
  FileSource found{path, clean_text(path.string()), {}, 0, 0, std::move(damage), std::move(names)};
  open(found);
  source_ = std::make_shared<const FileSource>(std::move(found));
}

InputFile::InputFile(std::string name, std::span<const std::byte> bytes, std::shared_ptr<DamageLog> damage)
    : source_(std::make_shared<const FileSource>(FileSource{{}, std::move(name), bytes, 0, 0, std::move(damage)})),
      size_(bytes.size()) {}

InputFile::InputFile(std::shared_ptr<const FileSource> source) : source_(std::move(source)) {
  if (source_->path.empty()) {
    size_ = source_->memory.size();
    return;
  }
  FileSource found = *source_;
  open(found);
  if (found.device == source_->device && found.number == source_->number) return;
  ::close(descriptor_);
  throw ReadError(source_->name + ": was replaced while it was read: the program still runs; try again");
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::vector<std::byte> InputFile::read(std::uint64_t offset, std::uint64_t size, std::string_view what) const {
  if (offset > size_ || size > size_ - offset)
    fail(offset, std::string(what) + " of " + std::to_string(size) + " bytes goes beyond the end of the file (" +
                     std::to_string(size_) + " bytes): it is truncated or damaged");
  if (descriptor_ < 0)
    return {source_->memory.begin() + static_cast<std::ptrdiff_t>(offset),
            source_->memory.begin() + static_cast<std::ptrdiff_t>(offset + size)};
  std::vector<std::byte> bytes(size);
  for (std::uint64_t done = 0; done < size;) {
    const ssize_t got =
        ::pread(descriptor_, bytes.data() + done, size - done, static_cast<off_t>(begin_ + offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(offset + done, std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) fail(offset + done, std::string(what) + " has become shorter while it was read");
    done += static_cast<std::uint64_t>(got);
  }
  return bytes;
}

void InputFile::for_each_piece(const std::function<void(std::span<const std::byte>)>& take) const {
  constexpr std::uint64_t piece = 1 << 20;
  for (std::uint64_t at = 0; at < size_; at += piece) take(read(at, std::min(piece, size_ - at), "the file"));
}

std::string InputFile::place(std::uint64_t offset, std::string_view what) const {
  return name() + ": at byte " + std::to_string(offset) + ": " + std::string(what);
}

void InputFile::fail(std::uint64_t offset, std::string_view what) const { throw ReadError(place(offset, what)); }

}  // namespace refrain::experiment
