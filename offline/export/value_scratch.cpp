#include "offline/export/value_scratch.hpp"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

#include "offline/export/output_file.hpp"

namespace refrain::exports {
namespace {

constexpr std::size_t values_of_block = std::size_t{1} << 23;  // 64 MiB

}  // namespace

ValueScratch::ValueScratch(int descriptor, std::size_t rows, std::size_t columns)
    : descriptor_(descriptor),
      rows_(rows),
      columns_(columns),
      width_(std::clamp(values_of_block / std::max<std::size_t>(rows, 1), std::size_t{1},
                        std::max<std::size_t>(columns, 1))),
      block_(rows * width_),
      has_(rows),
      has_in_block_(rows) {
  if (::ftruncate(descriptor_, static_cast<off_t>(rows * columns * sizeof(double))) != 0) {
    const int error = errno;
    ::close(descriptor_);
    fail_scratch(error);
  }
}

ValueScratch::~ValueScratch() { ::close(descriptor_); }

void ValueScratch::add(std::size_t column, std::size_t row, double value) {
  while (column >= begin_ + width_) flush();
  if (value == 0) return;
  block_[row * width_ + column - begin_] += value;
  has_[row] = has_in_block_[row] = true;
}

void ValueScratch::flush() {
  const std::size_t width = std::min(width_, columns_ - begin_);
  for (std::size_t row = 0; row < rows_; ++row) {
    if (!has_in_block_[row]) continue;
    double* values = &block_[row * width_];
    const auto* bytes = reinterpret_cast<const char*>(values);
    const std::size_t size = width * sizeof(double), at = (row * columns_ + begin_) * sizeof(double);
    for (std::size_t done = 0; done < size;) {
      const ssize_t written = ::pwrite(descriptor_, bytes + done, size - done, static_cast<off_t>(at + done));
      if (written < 0 && errno != EINTR) fail_scratch(errno);
      if (written > 0) done += static_cast<std::size_t>(written);
    }
    std::fill_n(values, width, 0.0);
    has_in_block_[row] = false;
  }
  begin_ += width_;
}

void ValueScratch::finish() {
  if (begin_ < columns_) flush();
  block_.assign(columns_, 0);
}

std::span<const double> ValueScratch::row(std::size_t row) {
  auto* bytes = reinterpret_cast<char*>(block_.data());
  const std::size_t size = columns_ * sizeof(double), at = row * size;
  for (std::size_t done = 0; done < size;) {
    const ssize_t read = ::pread(descriptor_, bytes + done, size - done, static_cast<off_t>(at + done));
    if (read == 0 || (read < 0 && errno != EINTR)) fail_scratch(read == 0 ? EIO : errno);
    if (read > 0) done += static_cast<std::size_t>(read);
  }
  return block_;
}

}  // namespace refrain::exports
