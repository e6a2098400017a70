#include "offline/trace/otf2_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace refrain::trace {
namespace {

/// Closes the file in its destructor.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

constexpr std::size_t window_size = 32 * 1024;
constexpr std::size_t head_size = 18;  ///< of a chunk: marker, endianness, first and last event

}  // namespace

Otf2File::Otf2File(std::filesystem::path path, std::uint64_t chunk_size)
    : path_(std::move(path)), chunk_size_(chunk_size) {
  struct stat about {};
  if (stat(path_.c_str(), &about) == 0 && S_ISREG(about.st_mode)) size_ = static_cast<std::uint64_t>(about.st_size);
}

std::size_t Otf2File::read_at(std::uint64_t offset, std::byte* to, std::size_t size) const {
  const OpenFile file(path_);
  std::size_t done = 0;
  while (file.descriptor() >= 0 && done < size) {
    const ssize_t got = pread(file.descriptor(), to + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

bool Otf2File::open_chunk(std::uint64_t chunk) {
  chunk_ = chunk;
  next_in_file_ = chunk * chunk_size_;
  chunk_end_ = std::min(size_, next_in_file_ + chunk_size_);
  at_ = end_ = nullptr;
  first_event_ = last_event_ = 0;
  Otf2Bytes head = ahead(head_size);
  const std::uint8_t mark = head.u8();
  bool is_known = false;
  is_foreign_ = is_foreign_endianness(head.u8(), is_known);
  Otf2Bytes numbers(head.at(), head.at() + head.left(), is_foreign_);
  const std::uint64_t first = numbers.full64(), last = numbers.full64();
  if (mark != otf2_chunk_header || !is_known || !numbers.is_good()) return false;
  first_event_ = first;
  last_event_ = last;
  skip_to(numbers.at());
  return true;
}

bool Otf2File::time_of_chunk(std::uint64_t chunk, std::uint64_t& time) {
  if (!open_chunk(chunk)) return false;
  Otf2Bytes in = ahead(9);
  if (in.u8() != otf2_timestamp) return false;
  time = in.full64();
  return in.is_good();
}

Otf2Bytes Otf2File::record_ahead(Otf2Bytes in, std::size_t in_front) {
  Otf2Bytes head = in;
  std::uint64_t size = head.u8();
  if (size == 0xff) size = head.full64();
  if (!head.is_good() || size > chunk_size_) return Otf2Bytes::bad();
  if (size > head.left()) {
    const auto of_head = static_cast<std::size_t>(head.at() - in.at()) + in_front;
    in = ahead(of_head + static_cast<std::size_t>(size));
    head = in;
    (void)head.part(of_head);
  }
  Otf2Bytes record = head.part(size);
  return head.is_good() ? record : Otf2Bytes::bad();
}

/// Keeps the bytes that are ahead already.
void Otf2File::read_more(std::size_t size) {
  const auto kept = static_cast<std::size_t>(end_ - at_);
  const std::size_t wanted = std::max(size, window_size);
  std::vector<std::byte> window;
  window.swap(window_);
  if (window.size() < wanted) {
    std::vector<std::byte> larger(wanted);
    std::copy(at_, end_, larger.begin());
    window.swap(larger);
  } else {
    std::copy(at_, end_, window.begin());
  }
  const std::uint64_t room = window.size() - kept, there = chunk_end_ - next_in_file_;
  const std::size_t got = read_at(next_in_file_, window.data() + kept, static_cast<std::size_t>(std::min(room, there)));
  next_in_file_ = got == 0 ? chunk_end_ : next_in_file_ + got;
  window_.swap(window);
  at_ = window_.data();
  end_ = at_ + kept + got;
}

}  // namespace refrain::trace
