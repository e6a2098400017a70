#pragma once
/// Values that come location by location and are wanted row by row: for formats whose rows hold all locations.
///
/// They wait in a scratch file with holes where nothing was added. Memory: a block of locations and a bit for each row,
/// whatever the number of locations.

#include <cstdint>
#include <span>
#include <vector>

namespace refrain::exports {

class ValueScratch {
 public:
  /// `descriptor`: of an empty file, which is closed in the end (OutputFile::open_scratch()).
  ValueScratch(int descriptor, std::size_t rows, std::size_t columns);
  ValueScratch(const ValueScratch&) = delete;
  ValueScratch& operator=(const ValueScratch&) = delete;
  ~ValueScratch();

  /// The columns are added in their order; those that are left out are zeros. Throws ExportError.
  void add(std::size_t column, std::size_t row, double value);
  /// Nothing may be added afterwards. Throws ExportError.
  void finish();
  bool has(std::size_t row) const { return has_[row]; }
  /// The values of all columns. Throws ExportError.
  std::span<const double> row(std::size_t row);

 private:
  void flush();

  int descriptor_;
  std::size_t rows_, columns_;
  std::size_t width_;      ///< columns of a block
  std::size_t begin_ = 0;  ///< the first column of the block
  std::vector<double> block_;
  std::vector<bool> has_, has_in_block_;
};

}  // namespace refrain::exports
