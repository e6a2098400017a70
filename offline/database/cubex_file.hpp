#pragma once
/// Reads profiles of Score-P and Scalasca: `.cubex`, the format of CUBE 4. A tar archive holds the definitions in XML
/// (anchor.xml) and, for the metric of each number N, its values (N.data) and an index of the rows that have any
/// (N.index):
///
///     N.index   "CUBEX.INDEX", the number 1 in 4 bytes, which tells the byte order, 2 bytes version, 1 byte: 0 all
///               rows, 1 the rows that follow: their count (4 bytes) and their numbers (4 bytes each)
///     N.data    "CUBEX.DATA", then for each of these rows an 8-byte value for each location
///
/// Rows of exclusive metrics are in preorder of the call tree, those of inclusive ones level by level below each root.
/// Compressed values ("ZCUBEX") are not read.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "offline/experiment/input_file.hpp"

namespace refrain::database {

struct CubexNode {
  std::int32_t parent = -1;
  std::string name, paradigm;  ///< of the region, as in <name> and <paradigm>
};

struct CubexLocation {
  std::int64_t rank = 0, thread = 0;
  std::string name;
};

struct CubexMetric {
  std::string name, unit;
  bool is_inclusive = false;
  std::vector<std::vector<double>> values;  ///< exclusive values, by node and location; empty for a node without any
};

struct CubexFile {
  std::string creator;
  std::vector<CubexNode> nodes;          ///< parents before children
  std::vector<CubexLocation> locations;  ///< those of a rank are adjacent
  std::vector<CubexMetric> metrics;      ///< only those that are sums
};

/// Whether the file begins like such an archive.
bool is_cubex(const std::string& path);
/// Maximum number of values of all metrics together: 2 GiB.
inline constexpr std::size_t most_cubex_values = std::size_t{1} << 28;
/// Throws experiment::ReadError, also when there are more than `most_values` values. Texts are safe to show in
/// terminals.
CubexFile parse_cubex(const experiment::InputFile& file, std::size_t most_values = most_cubex_values);

}  // namespace refrain::database
