#include "offline/export/output_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace refrain::exports {
namespace {

bool is_standard_output(const std::filesystem::path& path) { return path == "-"; }

}  // namespace

void must_not_exist(const std::filesystem::path& path) {
  if (std::filesystem::exists(std::filesystem::symlink_status(path)))
    throw ExportError(path.string() + " exists; nothing is overwritten");
}

void fail_scratch(int error) {
  throw ExportError("a scratch file for values: " + std::generic_category().message(error));
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {
  if (is_standard_output(path_)) {
    descriptor_ = STDOUT_FILENO;
    return;
  }
  must_not_exist(path_);
  std::filesystem::path partial = path_;
  partial += ".part";
  constexpr mode_t readable = 0666;
  descriptor_ = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, readable);
  if (descriptor_ < 0) fail(errno);
  partial_ = std::move(partial);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0 && descriptor_ != STDOUT_FILENO) ::close(descriptor_);
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void OutputFile::fail(int error) const {
  throw ExportError((is_standard_output(path_) ? "standard output" : path_.string()) + ": " +
                    std::generic_category().message(error));
}

void OutputFile::flush() {
  if (!write_all(descriptor_, buffer_)) fail(errno);
  buffer_.clear();
}

void OutputFile::finish() {
  flush();
  if (descriptor_ == STDOUT_FILENO) return;
  // Some file systems tell only here that there is no room.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  must_not_exist(path_);
  if (::rename(partial_.c_str(), path_.c_str()) != 0) fail(errno);
  partial_.clear();
}

int OutputFile::open_scratch() const {
  std::string name = (is_standard_output(path_) ? std::filesystem::temp_directory_path() / "refrain" : path_).string();
  name += ".XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) fail(errno);
  ::unlink(name.c_str());
  return descriptor;
}

}  // namespace refrain::exports
