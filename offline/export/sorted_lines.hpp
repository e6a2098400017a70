#pragma once
/// Sorts lines by time, for formats that require this order.
///
/// External merge sort (Knuth, "The Art of Computer Programming", volume 3, section 5.4): a full block is sorted and
/// appended to a scratch file as one run, and the runs are merged at the end. Memory: a block of lines, and a small
/// buffer for each run.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "offline/export/output_file.hpp"

namespace refrain::exports {

class SortedLines {
 public:
  /// `descriptor`: an empty file, which the destructor closes (OutputFile::open_scratch()). `block`: bytes of lines.
  explicit SortedLines(int descriptor, std::size_t block = std::size_t{32} << 20);
  SortedLines(const SortedLines&) = delete;
  SortedLines& operator=(const SortedLines&) = delete;
  ~SortedLines();

  /// Lines of equal time stay in the order in which they are added. Throws ExportError.
  void add(std::int64_t time, std::string_view line);
  /// Writes all lines, each with a line end. Nothing may be added afterwards. Throws ExportError.
  void write(OutputFile& out);

 private:
  struct Line {
    std::int64_t time;
    std::size_t begin, size;  ///< in text_
  };
  struct Run;
  void flush();

  int descriptor_;
  std::size_t block_;
  std::string text_;
  std::vector<Line> lines_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> runs_;  ///< begin and end in the file
  std::uint64_t size_ = 0;                                     ///< of the file
};

}  // namespace refrain::exports
