#include "archive/input_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/clean_text.hpp"
#include "archive/reader.hpp"

namespace refrain::archive {

InputFile::InputFile(const std::filesystem::path& path) : name_(clean_text(path.string())) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    const int error = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    throw ReadError(name_ + ": cannot be opened: " + std::strerror(error));
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw ReadError(name_ + ": is not a file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::InputFile(std::string name, std::span<const std::byte> bytes)
    : name_(std::move(name)), memory_(bytes), size_(bytes.size()) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::vector<std::byte> InputFile::read(std::uint64_t offset, std::uint64_t size, std::string_view what) const {
  if (offset > size_ || size > size_ - offset)
    fail(offset, std::string(what) + " of " + std::to_string(size) + " bytes goes beyond the end of the file (" +
                     std::to_string(size_) + " bytes): it is truncated or damaged");
  if (descriptor_ < 0)
    return {memory_.begin() + static_cast<std::ptrdiff_t>(offset),
            memory_.begin() + static_cast<std::ptrdiff_t>(offset + size)};
  std::vector<std::byte> bytes(size);
  for (std::uint64_t done = 0; done < size;) {
    const ssize_t got = ::pread(descriptor_, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(offset + done, std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) fail(offset + done, std::string(what) + " has become shorter while it was read");
    done += static_cast<std::uint64_t>(got);
  }
  return bytes;
}

void InputFile::fail(std::uint64_t offset, std::string_view what) const {
  throw ReadError(name_ + ": at byte " + std::to_string(offset) + ": " + std::string(what));
}

}  // namespace refrain::archive
