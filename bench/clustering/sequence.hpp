#pragma once
/// A sequence of iteration profiles of one location, generated or recorded, kept in memory.
///
/// File format, little-endian, nothing aligned:
///   8 bytes "RITSEQ2\0"
///   u32 overall metrics, u32 shapes
///   per overall metric: u8 in_distance, u8 precision (0 exact, 1 rounded, 2 not kept)
///   per shape: u8 exact, u8 visits column (255 none), u8 columns,
///     then per column: u8 scales_with (255 none), u8 in_distance, u8 also_scales_with (255 none)
///   u8 number of metrics of the user time, u8 each; f64 weight of a tick (0 not known)
///   iterations to the end of the file: u64 iteration, i64 per overall metric, u32 call paths touched,
///     per call path: u32 path, u8 shape, i64 per column

#include <cstdint>
#include <string>
#include <vector>

#include "clustering/types.hpp"

namespace refrain::bench {

struct ShapeTable {
  bool exact = false;
  std::uint8_t visits = clustering::no_column;
  std::vector<clustering::Column> columns;
};

struct Sequence {
  std::string name;
  std::vector<clustering::Precision> overall;
  std::vector<bool> in_distance;  ///< overall metrics that the algorithms of others compare
  std::vector<ShapeTable> shapes;

  struct Iteration {
    std::uint64_t number = 0;
    std::vector<std::int64_t> overall;
    std::vector<std::uint32_t> path;
    std::vector<std::uint8_t> shape;
    std::vector<std::int64_t> values;  ///< the columns of one path after those of another
    /// Generated sequences: the true time of user code per sampled path, which samples estimate.
    std::vector<std::pair<std::uint32_t, double>> true_user;
  };
  std::vector<Iteration> iterations;
  /// Generated sequences: the exact user time, in the unit of `true_user`, is the first of these metrics minus the
  /// others.
  std::vector<std::uint8_t> user_time_of;
  /// Sampled shapes: sum of squared weights / sum of weights, the effective weight of one sample; 0: not known, no
  /// shrinking.
  double tick_weight = 0;

  std::vector<clustering::Shape> shape_views() const;
  std::vector<clustering::TouchedPath> touched(const Iteration& it) const;
};

bool save(const Sequence& sequence, const std::string& file);
bool load(const std::string& file, Sequence& sequence);

/// Deterministic sequences with the shapes of Table I of the paper, and with single temporal behaviours.
std::vector<std::string> generator_names();
Sequence generate(const std::string& name);

}  // namespace refrain::bench
