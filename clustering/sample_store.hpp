#pragma once
/// The samples of single iterations, in a fixed number of bytes.
///
/// The samples of one iteration are mostly chance, so a cluster cannot represent them: its members have similar shares
/// of time, not similar samples. A call path takes about one and a half bytes here, and seven to twelve in the profile
/// of a cluster. While there is room the samples of every iteration are kept. When the store is full, one of every two
/// records is dropped, and from then on one of every two iterations is kept, then one of four, and so on: the
/// iterations that format/kept_iterations.hpp chooses.
///
/// The sampled call paths and their numbers of samples are kept exactly, other values of a path with a relative error
/// of at most `sample_value_error` (1.6 % in the mean over evenly spread values). Exact sums over iterations are in the
/// clusters.
///
/// Thread safety: none, one per loop of a location, ordinary context. No I/O. Memory: create() maps the memory of
/// data(); working memory grows with the paths of an iteration.
///
/// Format of data(): one record for each ordinal that kept() has: a varint of twice its number of bytes, then the
/// bytes. No bytes: the iteration is not kept, because it had too many samples. An odd varint 2 n + 1 stands for n
/// records of iterations without samples. A record is a string of bits, beginning with the lowest bit of the first
/// byte. For each sampled shape, in order: Elias-gamma of the number of paths + 1; if there are paths, Elias-gamma of 1
/// + the zigzag difference of the lowest id from the reference of the shape, then in Rice code the distance of each
/// other id from the id before, minus 1; the visits column, if the shape has one, minus 1; each other column as the
/// zigzag difference of (its code minus the code of the visits) from the reference of the column. Each sequence in Rice
/// code begins with three bits (ids: five) for its parameter. A code is a floating-point number with 4 bits of
/// fraction.

#include <cstddef>
#include <cstdint>
#include <span>

#include "clustering/types.hpp"
#include "format/kept_iterations.hpp"
#include "platform/pages.hpp"

namespace refrain::clustering {

using format::KeptIterations;

inline constexpr double sample_value_error = 1.0 / 32;

class SampleStore {
 public:
  SampleStore() = default;
  SampleStore(const SampleStore&) = delete;
  ~SampleStore();

  /// To be called once. Paths of shapes that are not exact are kept. False: no memory, or settings out of range.
  [[nodiscard]] bool create(std::span<const Shape> shapes, std::size_t bytes);

  /// Appends the next iteration; ordinals count calls. Costs only a comparison when the iteration is not kept.
  void append(std::span<const TouchedPath> paths);
  /// Appends `iterations` iterations without samples. The cost does not depend on their number.
  void append_empty(std::uint64_t iterations);

  const KeptIterations& kept() const { return kept_; }
  std::uint64_t count() const { return count_; }  ///< number of iterations appended
  std::span<const std::byte> data() const { return {data_, used_}; }
  /// References, which a reader needs beside the data. For each sampled shape: one for the ids, then one per column.
  std::span<const std::int32_t> references() const { return {references_, columns_}; }

 private:
  bool encode(std::span<const TouchedPath> paths);
  void add_to_run(std::uint64_t records);
  bool make_room(std::size_t bytes, std::uint64_t ordinal);
  void thin();
  void find_next(std::uint64_t ordinal);

  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0, used_ = 0;
  KeptIterations kept_;
  std::uint64_t count_ = 0, next_ = 0;
  std::size_t run_at_ = 0;  ///< offset of the last record if it is a run of iterations without samples
  std::uint64_t run_ = 0;   ///< length of that run; 0: the last record is no run
  std::size_t shapes_ = 0, columns_ = 0;
  bool sampled_[max_shapes] = {};
  std::uint8_t visits_[max_shapes] = {};
  std::uint8_t shape_columns_[max_shapes] = {};
  std::uint8_t first_column_[max_shapes] = {};
  std::int32_t references_[max_shapes * (max_columns + 1)] = {};
  bool has_reference_[max_shapes * (max_columns + 1)] = {};
  platform::Bytes record_;
  platform::GrowableArray<std::uint64_t> sorted_;  ///< upper half: path; lower half: its index among the touched paths
  platform::GrowableArray<std::uint64_t> numbers_;
};

}  // namespace refrain::clustering
