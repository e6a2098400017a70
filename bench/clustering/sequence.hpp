#pragma once
/// A sequence of iteration profiles of one location, generated or recorded, in memory.
///
/// File format, little-endian, without padding:
///   8 bytes "RITSEQ2\0"
///   u32 overall metrics, u32 shapes
///   per overall metric: u8 in_distance, u8 precision (0 exact, 1 rounded, 2 not kept)
///   per shape: u8 exact, u8 visits column (255 none), u8 columns,
///     then per column: u8 scales_with (255 none), u8 in_distance, u8 also_scales_with (255 none)
///   u8 number of metrics of the user time, u8 each; f64 weight of a tick (0 unknown)
///   iterations until the end of the file: u64 iteration, i64 per overall metric, u32 number of touched call paths,
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
  std::vector<bool> in_distance;  ///< overall metrics that the other algorithms compare
  std::vector<ShapeTable> shapes;

  struct Iteration {
    std::uint64_t number = 0;
    std::vector<std::int64_t> overall;
    std::vector<std::uint32_t> path;
    std::vector<std::uint8_t> shape;
    std::vector<std::int64_t> values;  ///< the columns of one path after those of the other
    /// For generated sequences: the true time of user code per sampled path, which the samples estimate.
    std::vector<std::pair<std::uint32_t, double>> true_user;
  };
  std::vector<Iteration> iterations;
  /// The exact user time, in the unit of `true_user`, is the first of these metrics minus the others.
  std::vector<std::uint8_t> user_time_of;
  /// For sampled shapes, the effective weight of one sample: the sum of the squared weights divided by the sum of the
  /// weights. 0: unknown.
  double tick_weight = 0;

  std::vector<clustering::Shape> shape_views() const;
  std::vector<clustering::TouchedPath> touched(const Iteration& it) const;
};

bool save(const Sequence& sequence, const std::string& file);
bool load(const std::string& file, Sequence& sequence);

/// Generated sequences have the shape of a row in Table I of the paper, or one particular change over time. A name
/// always gives the same sequence.
std::vector<std::string> generator_names();
Sequence generate(const std::string& name);

}  // namespace refrain::bench
