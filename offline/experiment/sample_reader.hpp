#pragma once
/// Reads the samples of single iterations that clustering/sample_store.hpp has kept.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "format/kept_iterations.hpp"
#include "format/sample_codes.hpp"

namespace refrain::experiment {

/// Layout of the values of a kind of call path, as in the store.
struct StoredShape {
  bool exact = false;                       ///< its paths are not in the store
  std::uint8_t visits = format::no_column;  ///< the column that counts samples
  std::size_t columns = 0;
};
struct StoredPath {
  std::uint32_t path;
  std::uint8_t shape;
  const std::int64_t* values;  ///< one per column of the shape
};

/// Reads the records in order. Damaged input ends the reading early; nothing is read outside the data.
class SampleReader {
 public:
  /// `shapes`, `references`, `which` and `count` must be those of the store.
  [[nodiscard]] bool open(std::span<const std::byte> data, std::span<const StoredShape> shapes,
                          std::span<const std::int32_t> references, const format::KeptIterations& which,
                          std::uint64_t count);

  /// Advances to the next iteration that has a record. False: there is none, or the data are damaged (see damaged()).
  [[nodiscard]] bool next();
  std::uint64_t ordinal() const { return ordinal_; }
  bool kept() const { return kept_; }
  /// The sampled paths of the iteration, ascending by shape and path; `values` point into the reader.
  std::span<const StoredPath> paths() const { return paths_; }
  bool damaged() const { return damaged_; }

 private:
  bool decode(std::span<const std::byte> record);

  std::span<const std::byte> data_;
  std::size_t at_ = 0;
  format::KeptIterations which_;
  std::uint64_t ordinal_ = 0, block_ = 0, count_ = 0;
  std::uint64_t run_ = 0;  ///< iterations without samples that are still to come
  bool kept_ = false, damaged_ = false;
  std::size_t shapes_ = 0;
  bool sampled_[format::max_shapes] = {};
  std::uint8_t visits_[format::max_shapes] = {};
  std::uint8_t shape_columns_[format::max_shapes] = {};
  std::uint8_t first_column_[format::max_shapes] = {};
  std::int32_t references_[format::max_shapes * (format::max_columns + 1)] = {};
  std::vector<StoredPath> paths_;
  std::vector<std::int64_t> values_;
};

}  // namespace refrain::experiment
