#pragma once
/// Turns values that come location by location into rows, for formats whose rows hold all locations.
///
/// The values are kept in a scratch file with holes where nothing was added. Memory: a block of locations and two bits
/// for each row, whatever the number of locations.

#include <cstdint>
#include <span>
#include <vector>

namespace refrain::exports {

class ValueScratch {
 public:
  /// `descriptor`: an empty file, which the destructor closes (OutputFile::open_scratch()).
  ValueScratch(int descriptor, std::size_t rows, std::size_t columns);
  ValueScratch(const ValueScratch&) = delete;
  ValueScratch& operator=(const ValueScratch&) = delete;
  ~ValueScratch();

  /// Columns must be added in ascending order; omitted values are zero. Throws ExportError.
  void add(std::size_t column, std::size_t row, double value);
  /// Nothing may be added afterwards. Throws ExportError.
  void finish();
  bool has(std::size_t row) const { return has_[row]; }
  /// The values of all columns of a row, valid until the next call. Throws ExportError.
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
