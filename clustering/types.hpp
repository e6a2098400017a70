#pragma once
/// Input and settings of the clustering. Plain data.

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

/// Which iterations are one class, and may share a cluster. Compared exactly, never by a hash alone.
enum class Equivalence : std::uint8_t {
  Mpi,        ///< iterations that touch the same set of exact call paths
  MpiVisits,  ///< and visit each of them equally often
  All,        ///< iterations that touch the same set of call paths, including sampled ones
  None        ///< any two iterations
};

/// One value of a call path.
struct Column {
  std::uint8_t scales_with = no_metric;  ///< overall metric that the column's sum over all paths scales with
  bool in_distance = true;               ///< compared between call paths; false for a column that repeats another one
  /// Exact shapes: a second overall metric that the column scales with, with a slope of its own. Bytes scale with the
  /// number of messages on some call paths and with their size on others: two metrics distinguish these, one cannot.
  std::uint8_t also_scales_with = no_metric;
};

/// The meaning of the values of a call path.
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
  std::size_t metrics = 0;                           ///< number of overall metrics, the values of an iteration
  std::span<const Shape> shapes;
};

struct TouchedPath {
  PathId path;
  std::uint8_t shape;
  const std::int64_t* values;  ///< one per column of the shape
};

struct IterationProfile {
  std::span<const std::int64_t> overall;
  std::span<const TouchedPath> paths;  ///< each path once, in any order; fastest when the order repeats
};

}  // namespace refrain::clustering
