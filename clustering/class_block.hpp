#pragma once
/// The memory of the classes of a clusterer: one block each, all behind each other on mapped pages.
///
/// A block is a header, what the class has learned (ClassStatistics), the call paths of its key in the order of first
/// touch and by id, the values of its first iteration, products for slopes, the list of its other call paths with an
/// index, and a flat matrix: one row per cluster, 8 bytes per value. A row has the columns of key paths that have ever
/// differed from the first iteration, one behind the other, as sums less members times that value; then the values of
/// the other call paths, path by path.
///
/// A block that needs more room is copied to the end, and leaves a hole; when holes are more than a quarter of what is
/// in use the caller closes up, and the pages behind the blocks are given back. Every pointer is valid until the next
/// make(), change() or close_up(). Thread safety: none. Errors: false, and nothing has changed.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "clustering/types.hpp"
#include "platform/pages.hpp"

namespace refrain::clustering {

inline constexpr std::size_t max_flat = 64;

/// What the blocks of all classes have in common. A flat column is a column of a shape, all shapes in one list.
struct BlockForm {
  std::size_t shapes;
  std::uint8_t columns[max_shapes];
  std::uint8_t flat_begin[max_shapes + 1];
  std::uint8_t shape_of[max_flat];  ///< by flat column
  std::uint64_t twice;              ///< flat columns that follow two overall metrics
  std::size_t sketch_dims;
};

/// What there is room for.
struct Rooms {
  std::uint64_t varies;    ///< flat columns of key paths
  std::uint32_t listed;    ///< call paths outside the key
  std::uint32_t sampled;   ///< values of these
  std::uint32_t clusters;  ///< rows
  bool operator==(const Rooms&) const = default;
};

struct ClassBlock {
  std::size_t at;                       ///< begin, in bytes
  std::size_t bytes;                    ///< with the header
  std::uint32_t first[max_shapes + 1];  ///< by shape: its first path among all key paths of the class
  Rooms rooms;
  std::uint32_t listed, sampled;                  ///< in use
  std::size_t base, products, index, list, rows;  ///< begins of the parts, from `at`
  std::uint32_t key_columns;                      ///< values of a row before those of the list

  std::uint32_t count(std::size_t shape) const { return first[shape + 1] - first[shape]; }
  std::uint32_t key_paths() const { return first[max_shapes]; }
  std::size_t row_values() const { return std::size_t{key_columns} + rooms.sampled; }
};

/// All zero at first.
struct ClassStatistics {
  double* overall_scatter;  ///< per flat column: pooled sum of squares of its overall metric
  double* second_scatter;   ///< per flat column: of its second overall metric
  double* cross_scatter;    ///< per flat column: pooled sum of products of the two
  float* slope_sketch;      ///< sketch of the slopes, which has been taken away from the sketches of clusters
  float* second_sketch;     ///< the same of the second slopes
  float* direction;         ///< sampled columns: sums of the sketch, then of the overall metric per flat column
  float* scale;             ///< per flat column: what the sketches of clusters have been multiplied with
};

/// Per key path of a column that varies: the pooled sum inside clusters of products with the overall metric, and with
/// the second one; null without one.
struct Products {
  float *first, *second;
};

/// A call path outside the key. All of its columns lie at `place` of a row's values, behind those of the key.
struct Listed {
  std::uint32_t path;
  std::uint32_t place : 28;
  std::uint32_t shape : 4;
};
static_assert(max_shapes <= 16);

class ClassBlocks {
 public:
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr std::uint32_t most_sampled = 1U << 28;  ///< values that Listed::place can tell

  void set_form(const BlockForm& form) { form_ = form; }
  void release();

  /// A block with room as `block.first` and `block.rooms` say, all zeros; `owner` is told to close_up().
  [[nodiscard]] bool make(ClassBlock& block, std::uint32_t owner);
  /// More or less room, with what there was in the first `clusters` rows.
  [[nodiscard]] bool change(ClassBlock& block, const Rooms& rooms, std::uint32_t clusters);
  void free(const ClassBlock& block);
  /// Bytes of such a block.
  std::size_t bytes_of(const ClassBlock& wanted) const;

  bool has_many_holes() const { return memory_.size() - in_use_ > in_use_ / 4 + 65536; }
  /// Moves all blocks to the begin; `moved(owner, at)` is called for each.
  template <class Moved>
  void close_up(const Moved& moved);

  ClassStatistics statistics(const ClassBlock& block) const;
  std::uint32_t* paths(const ClassBlock& b, std::size_t shape) const {
    return part<std::uint32_t>(b, paths_at()) + b.first[shape];
  }
  /// Indices into paths(), ascending by path.
  std::uint32_t* by_path(const ClassBlock& b, std::size_t shape) const {
    return part<std::uint32_t>(b, paths_at()) + b.key_paths() + b.first[shape];
  }
  /// Values of the first iteration: the columns of a shape lie behind each other.
  std::int64_t* base(const ClassBlock& block, std::size_t shape) const;
  /// Of a column that varies.
  Products products(const ClassBlock& block, unsigned flat) const;
  /// Where the values of a column that varies begin in a row.
  std::uint32_t place_in_row(const ClassBlock& block, unsigned flat) const;
  std::int64_t* row(const ClassBlock& b, std::uint32_t row) const {
    return part<std::int64_t>(b, b.rows) + row * b.row_values();
  }
  Listed* list(const ClassBlock& b) const { return part<Listed>(b, b.list); }
  /// Place of a listed call path, or none.
  std::uint32_t find(const ClassBlock& block, std::uint32_t path, std::size_t shape) const;
  /// Adds a path that find() does not know, for which there is room. Its place.
  std::uint32_t insert(ClassBlock& block, std::uint32_t path, std::size_t shape);

  std::size_t bytes_in_use() const { return in_use_; }
  std::size_t bytes_mapped() const { return (memory_.size() + 4095) & ~std::size_t{4095}; }
  /// Bytes that choosing and reconstructing take in a block: statistics and products.
  std::size_t search_bytes(const ClassBlock& b) const { return paths_at() - sizeof(Header) + (b.index - b.products); }

 private:
  struct Header {
    std::size_t bytes;
    std::uint32_t owner;  ///< none: a hole
  };

  template <class T>
  T* part(const ClassBlock& block, std::size_t offset) const {
    return reinterpret_cast<T*>(const_cast<std::byte*>(memory_.data()) + block.at + offset);
  }
  std::size_t flat_count() const { return form_.flat_begin[form_.shapes]; }
  std::size_t statistics_floats() const { return 3 * form_.sketch_dims + 2 * flat_count(); }
  std::size_t paths_at() const {
    return sizeof(Header) + 3 * flat_count() * sizeof(double) + (statistics_floats() + 1) / 2 * sizeof(double);
  }
  static unsigned index_bits(const ClassBlock& block) {
    return 2 + static_cast<unsigned>(std::bit_width(block.rooms.listed / 2));
  }
  void lay_out(ClassBlock& block) const;
  bool append(ClassBlock& block, std::uint32_t owner);
  void enter(const ClassBlock& block, std::uint32_t position);

  BlockForm form_{};
  platform::Bytes memory_;
  std::size_t in_use_ = 0;
};

template <class Moved>
void ClassBlocks::close_up(const Moved& moved) {
  std::size_t to = 0;
  for (std::size_t at = 0; at < memory_.size();) {
    Header header;
    std::memcpy(&header, memory_.data() + at, sizeof header);
    if (header.owner != none) {
      std::memmove(memory_.data() + to, memory_.data() + at, header.bytes);
      moved(header.owner, to);
      to += header.bytes;
    }
    at += header.bytes;
  }
  (void)memory_.resize(to);
  memory_.trim();
}

}  // namespace refrain::clustering
