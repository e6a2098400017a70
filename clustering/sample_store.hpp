#pragma once
/// The samples of single iterations, in a fixed number of bytes.
///
/// What samples say of one iteration is mostly chance, so clusters cannot tell it: members of a cluster are alike in
/// their shares of time, not in their samples. A call path needs about one byte and a half here, and seven to
/// twelve in the profile of a cluster. While there is room every iteration's samples are kept. When the room is used up
/// one of every two records is dropped and from then on one of every two iterations is kept, then one of four, and so
/// on: those that kept_iterations.hpp says.
///
/// Which call paths were sampled and how often is kept exactly, other values of a path with a relative error of at most
/// `sample_value_error` (1.6 % in the mean over evenly spread values). The exact sums over iterations are those of the
/// clusters, always.
///
/// Thread safety: none, one per loop of a location, ordinary context. No I/O. Memory: create() maps that of data();
/// work space grows with the paths of an iteration.
///
/// Format of data(), all of it: for the ordinals that kept() has a record each: a varint of twice its bytes, then the
/// bytes; no bytes: the iteration is not kept, its samples alone were too many. An odd varint 2 n + 1 stands
/// for n records at once, of iterations without samples. A record is a string of bits, lowest bit of the first byte
/// first. Per sampled shape, in order: Elias-gamma of the paths + 1; when there are paths,
/// Elias-gamma of 1 + the zigzag difference of the lowest id from the reference of the shape, then in Rice code the
/// distances of the other ids from the id before, less 1; the visits column, if the shape has one, less 1; each other
/// column as the zigzag difference of its code, less the code of the visits, from the reference of the column. Each
/// sequence in Rice code begins with three bits (ids: five) for its parameter. A code is floating point with 4 bits of
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

  /// Once. Paths of the shapes that are not exact are kept. False: no memory, or settings out of range.
  [[nodiscard]] bool create(std::span<const Shape> shapes, std::size_t bytes);

  /// The next iteration, whatever its number: ordinals count calls. Costs nothing but a comparison when the iteration
  /// is not one that is kept.
  void append(std::span<const TouchedPath> paths);
  /// The next `iterations` iterations, which have no samples. Costs the same however many they are.
  void append_empty(std::uint64_t iterations);

  const KeptIterations& kept() const { return kept_; }
  std::uint64_t count() const { return count_; }  ///< iterations appended
  std::span<const std::byte> data() const { return {data_, used_}; }
  /// What a reader needs beside the data. Per sampled shape: one for the ids, then one per column.
  std::span<const std::int32_t> references() const { return {references_, columns_}; }

 private:
  bool encode(std::span<const TouchedPath> paths);
  void add_to_run(std::uint64_t records);
  bool make_room(std::size_t bytes, std::uint64_t ordinal);
  void thin();
  void look_from(std::uint64_t ordinal);

  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0, used_ = 0;
  KeptIterations kept_;
  std::uint64_t count_ = 0, next_ = 0;
  std::size_t run_at_ = 0;  ///< where the last record stands when it is a run of iterations without samples
  std::uint64_t run_ = 0;   ///< how many these are; 0: the last record is none
  std::size_t shapes_ = 0, columns_ = 0;
  bool sampled_[max_shapes] = {};
  std::uint8_t visits_[max_shapes] = {};
  std::uint8_t shape_columns_[max_shapes] = {};
  std::uint8_t first_column_[max_shapes] = {};
  std::int32_t references_[max_shapes * (max_columns + 1)] = {};
  bool has_reference_[max_shapes * (max_columns + 1)] = {};
  platform::Bytes record_;
  platform::GrowableArray<std::uint64_t> sorted_;  ///< paths, and in the lower half their numbers among the touched
  platform::GrowableArray<std::uint64_t> numbers_;
};

}  // namespace refrain::clustering
