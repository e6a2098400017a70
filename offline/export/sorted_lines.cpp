#include "offline/export/sorted_lines.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <queue>
#include <tuple>
#include <unistd.h>

namespace refrain::exports {

/// A run while it is read, piece by piece. In the file each line follows its head.
struct SortedLines::Run {
  struct Head {
    std::int64_t time = 0;
    std::uint64_t size = 0;
  };
  int descriptor;
  std::uint64_t at, end;
  std::string buffer = {};
  std::size_t used = 0;  ///< bytes used of the buffer
  Head head = {};

  /// Reads the next line's head; false when there is none.
  bool next() {
    if (!has(sizeof head)) return false;
    std::memcpy(&head, buffer.data() + used, sizeof head);
    used += sizeof head;
    if (!has(head.size)) fail_scratch(EIO);
    return true;
  }
  std::string_view line() {
    used += head.size;
    return std::string_view(buffer).substr(used - head.size, head.size);
  }

 private:
  bool has(std::size_t bytes) {
    constexpr std::size_t piece = std::size_t{64} << 10;
    if (buffer.size() - used >= bytes) return true;
    buffer.erase(0, used);
    used = 0;
    while (buffer.size() < bytes && at < end) {
      const std::size_t before = buffer.size();
      buffer.resize(before + std::min<std::uint64_t>(std::max(piece, bytes - before), end - at));
      const ssize_t got = ::pread(descriptor, buffer.data() + before, buffer.size() - before, static_cast<off_t>(at));
      if (got < 0 && errno != EINTR) fail_scratch(errno);
      if (got == 0) fail_scratch(EIO);
      const std::size_t read = got < 0 ? 0 : static_cast<std::size_t>(got);
      buffer.resize(before + read);
      at += read;
    }
    return buffer.size() >= bytes;
  }
};

SortedLines::SortedLines(int descriptor, std::size_t block) : descriptor_(descriptor), block_(block) {}

SortedLines::~SortedLines() { ::close(descriptor_); }

void SortedLines::add(std::int64_t time, std::string_view line) {
  lines_.push_back({time, text_.size(), line.size()});
  text_ += line;
  if (text_.size() >= block_) flush();
}

void SortedLines::flush() {
  if (lines_.empty()) return;
  std::ranges::stable_sort(lines_, {}, &Line::time);
  constexpr std::size_t piece = std::size_t{1} << 20;
  const std::uint64_t begin = size_;
  std::string buffer;
  const auto write_buffer = [&] {
    if (!experiment::write_all(descriptor_, buffer)) fail_scratch(errno);
    size_ += buffer.size();
    buffer.clear();
  };
  for (const Line& line : lines_) {
    const Run::Head head{line.time, line.size};
    buffer.append(reinterpret_cast<const char*>(&head), sizeof head);
    buffer.append(text_, line.begin, line.size);
    if (buffer.size() >= piece) write_buffer();
  }
  write_buffer();
  runs_.emplace_back(begin, size_);
  lines_.clear();
  text_.clear();
}

void SortedLines::write(OutputFile& out) {
  flush();
  std::vector<Run> runs;
  for (const auto& [begin, end] : runs_) runs.push_back({descriptor_, begin, end});
  using First = std::tuple<std::int64_t, std::size_t>;  // time and index of the run: earlier lines are in earlier runs
  std::priority_queue<First, std::vector<First>, std::greater<>> first;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (runs[i].next()) first.emplace(runs[i].head.time, i);
  while (!first.empty()) {
    const std::size_t i = std::get<1>(first.top());
    first.pop();
    out.write(runs[i].line());
    out.write("\n");
    if (runs[i].next()) first.emplace(runs[i].head.time, i);
  }
}

}  // namespace refrain::exports
