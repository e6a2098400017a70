#pragma once
/// What the clustering is given and what it is asked for. Plain data.

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/iteration_log.hpp"
#include "format/sample_codes.hpp"

namespace refrain::clustering {

enum class PathId : std::uint32_t {};
using format::Label;
using format::max_columns;
using format::max_overall;
using format::max_shapes;
using format::no_column;
using format::no_label;
using format::Precision;

inline constexpr std::uint8_t no_metric = 0xff;

/// Which iterations may share a cluster. Compared exactly, never by a hash alone.
enum class Equivalence : std::uint8_t {
  Mpi,        ///< the same set of exact call paths touched
  MpiVisits,  ///< and each of them visited equally often
  All,        ///< the same set of all touched call paths, sampled ones too
  None        ///< any two
};

/// One value of a call path.
struct Column {
  std::uint8_t scales_with = no_metric;  ///< overall metric that the column's sum over all paths scales with
  bool in_distance = true;               ///< takes part in comparing call paths; leave out what repeats another column
  /// Exact shapes: a second overall metric that the column scales with beside the first, with a slope of its own. Bytes
  /// scale with the messages on some call paths and their size on others: two metrics tell these apart, one cannot.
  std::uint8_t also_scales_with = no_metric;
};

/// What the values of a call path mean.
struct Shape {
  bool exact =
      false;  ///< an MPI call or a marked region: every visit is recorded; otherwise its values come from samples
  std::uint8_t visits = no_column;  ///< the column that counts visits, or samples
  std::span<const Column> columns;
};

struct Settings {
  Equivalence equivalence = Equivalence::Mpi;
  std::uint32_t max_clusters = 64;
  std::size_t memory_limit = std::size_t{64} << 20;  ///< bytes
  std::size_t metrics = 0;                           ///< overall metrics: values per iteration
  std::span<const Shape> shapes;
};

struct TouchedPath {
  PathId path;
  std::uint8_t shape;
  const std::int64_t* values;  ///< one per column of the shape
};

struct IterationProfile {
  std::span<const std::int64_t> overall;
  std::span<const TouchedPath> paths;  ///< each path once, in any order; cheapest when the order repeats
};

}  // namespace refrain::clustering
