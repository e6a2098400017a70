#pragma once
/// Reads what sample_store.hpp keeps. Ordinary C++20, for the offline half and tests.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clustering/kept_iterations.hpp"
#include "clustering/types.hpp"

namespace refrain::clustering {

/// A record takes at most an eighth of a store, and a store at most largest_sample_store.
inline constexpr std::size_t largest_sample_store = std::size_t{16} << 20,
                             largest_sample_record = largest_sample_store / 8;

/// Reads the records one after the other. Damaged input makes it end early, never read outside the data.
class SampleReader {
 public:
  /// `shapes`, `references`, `which` and `count` as the store had them.
  [[nodiscard]] bool open(std::span<const std::byte> data, std::span<const Shape> shapes,
                          std::span<const std::int32_t> references, const KeptIterations& which, std::uint64_t count);

  /// Goes to the next iteration that has a record. False: there is none.
  [[nodiscard]] bool next();
  std::uint64_t ordinal() const { return ordinal_; }
  bool kept() const { return kept_; }
  /// The sampled paths of the iteration, ascending by shape and path; `values` point into the reader.
  std::span<const TouchedPath> paths() const { return paths_; }
  bool damaged() const { return damaged_; }

 private:
  bool decode(std::span<const std::byte> record);

  std::span<const std::byte> data_;
  std::size_t at_ = 0;
  KeptIterations which_;
  std::uint64_t ordinal_ = 0, block_ = 0, count_ = 0;
  std::uint64_t run_ = 0;  ///< iterations without samples that are still to come
  bool kept_ = false, damaged_ = false;
  std::size_t shapes_ = 0;
  bool sampled_[max_shapes] = {};
  std::uint8_t visits_[max_shapes] = {};
  std::uint8_t shape_columns_[max_shapes] = {};
  std::uint8_t first_column_[max_shapes] = {};
  std::int32_t references_[max_shapes * (max_columns + 1)] = {};
  std::vector<TouchedPath> paths_;
  std::vector<std::int64_t> values_;
};

}  // namespace refrain::clustering
