#pragma once
/// Reads profiles of Score-P and Scalasca: `.cubex`, the format of CUBE 4. A tar archive holds the definitions in XML
/// (anchor.xml), and for each metric of number N its values (N.data) and which rows there are (N.index):
///
///     N.index   "CUBEX.INDEX", a one of 4 bytes that tells the order of bytes, 2 bytes version, 1 byte: 0 all rows, 1
///     the
///               rows that follow: their count (4 bytes) and their numbers (4 bytes each)
///     N.data    "CUBEX.DATA", then for each of these rows a value of 8 bytes of each location
///
/// Rows of exclusive metrics are in the order of the call tree from top to bottom, those of inclusive ones level by
/// level below each root. Compressed values ("ZCUBEX") are not read.

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
  std::vector<std::vector<double>> values;  ///< exclusive ones, by node and location; a node without any has none
};

struct CubexFile {
  std::string creator;
  std::vector<CubexNode> nodes;          ///< parents before children
  std::vector<CubexLocation> locations;  ///< those of a rank follow each other
  std::vector<CubexMetric> metrics;      ///< those that are sums
};

/// Whether the file begins as such an archive does.
bool is_cubex(const std::string& path);
/// Values of all metrics together: 2 GiB.
inline constexpr std::size_t most_cubex_values = std::size_t{1} << 28;
/// Throws experiment::ReadError, also when there are more than `most_values`. Texts are fit for terminals.
CubexFile parse_cubex(const experiment::InputFile& file, std::size_t most_values = most_cubex_values);

}  // namespace refrain::database
