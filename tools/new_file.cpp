#include "tools/new_file.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace refrain::tools {

NewFile::NewFile(std::string path) : path_(std::move(path)), partial_(path_ + ".part") {
  file_ = std::fopen(partial_.c_str(), "w");
  if (file_ == nullptr) fail();
}

NewFile::~NewFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(partial_.c_str());
}

void NewFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail();
  size_ += text.size();
}

void NewFile::finish() {
  const bool is_written = std::fflush(file_) == 0;
  if (std::fclose(std::exchange(file_, nullptr)) == 0 && is_written &&
      std::rename(partial_.c_str(), path_.c_str()) == 0)
    return;
  const int error = errno;
  std::remove(partial_.c_str());
  errno = error;
  fail();
}

void NewFile::fail() const { throw std::runtime_error(path_ + ": " + std::strerror(errno)); }

}  // namespace refrain::tools
