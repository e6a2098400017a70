#pragma once
/// Groups the iterations of one loop of a location while they come: at most `max_clusters` profiles, whatever the
/// number of iterations.
///
/// Idea and constraint: Szebenyi, Wolf, Wylie, "Performance Analysis of Long-running Applications", section IV. Only
/// iterations of one class (types.hpp, Equivalence) share a cluster. A cluster keeps exact 64-bit sums over its members
/// of every overall metric and of every call path and column; the sums of all clusters add up to the run.
///
/// No I/O, no MPI, no threads. One per loop of a location, used by one thread at a time in ordinary context (not in
/// handlers). Deterministic for the same input. Memory: mapped pages only. Errors: an iteration that finds no memory is
/// refused as a whole (Error::NoMemory), the clusters stay as they were.
///
/// Memory by arithmetic. A class has one block (class_block.hpp) with k rows: one per cluster, and at most as many
/// again and two while clusters come and go, but never more than `max_clusters` for that. A row has 8 bytes for each of
/// P values, those of the key's call paths in columns that have ever varied, and of S values, those of the other call
/// paths that the class knows, with room for S / 16 + 8 more:
///
///     8 k (P + S + S / 16 + 8)   bytes.
///
/// As many full profiles, of all columns, take 8 k (P' + S) with P' >= P. Beside the rows a class has 8 bytes per call
/// path of its key, 8 per value of its first iteration and at most 8 per value for slopes, and 24 to 40 per other call
/// path. With 64 clusters, 15 key paths of 6 columns, 4 of which vary, and 100 others of 2 columns: 140 KiB of rows
/// (full profiles: 145) and 7 KiB. A class that came once takes about its first iteration. Statistics, sketches and
/// work space are 2.7 KiB a cluster at 20 overall metrics. Holes between blocks are at most a quarter of all that and
/// 64 KiB, and for the moment of a copy the block that grows is there twice. Nothing depends on the number of
/// iterations.
///
/// `memory_limit` bounds it: a class is not made, a row not made longer, and a cluster not started beyond it, but for
/// the last row. Clusters are merged instead, and iterations that still find no room join one cluster, which is marked
/// (ClusterView::overflow) and alone may grow: by one row of all call paths.

#include <cstddef>
#include <cstdint>
#include <span>

#include "clustering/class_block.hpp"
#include "clustering/types.hpp"
#include "platform/pages.hpp"

namespace refrain::clustering {

enum class Error : std::uint8_t { None, NoMemory, BadProfile };

struct Added {
  Label label = no_label;  ///< of the cluster that has received the iteration
  Error error = Error::None;
};

/// Iterations in which no call path was touched.
struct Untouched {
  std::uint64_t count;
  std::uint64_t first, last;                            ///< iterations
  std::span<const std::int64_t> sum, minimum, maximum;  ///< per overall metric
  std::span<const double> squares;                      ///< as in ClusterView
};

/// Cluster `from` is now part of cluster `to`. In order of time: following the entries leads a label to its cluster.
struct Merge {
  Label from;
  Label to;
};

/// A cluster as it is. Valid until the next add().
struct ClusterView {
  Label label;
  std::uint32_t class_index;
  bool overflow;  ///< shared by classes that there was no memory for: its call paths are a union
  std::uint64_t members;
  std::uint64_t first, last;  ///< iterations
  /// The member nearest to the mean, kept on line: whichever of the present exemplar and the newcomer is nearer to the
  /// mean as it then is. A member that left the race earlier is not looked at again.
  std::uint64_t exemplar;
  std::span<const std::int64_t> sum, minimum, maximum;  ///< per overall metric
  /// Per overall metric: sum of the squared distances from the mean; the variance is this / members.
  std::span<const double> squares;
};

/// One call path of a cluster.
struct PathRow {
  PathId path;
  std::uint8_t shape;
  std::uint32_t columns;
  bool has_slopes;
  std::int64_t sum[max_columns];    ///< over the cluster's members
  float slope[max_columns];         ///< for reconstruct(); of the path's class, meaningful when has_slopes
  float second_slope[max_columns];  ///< of the second overall metric, 0 for columns without one
};

class Clusterer {
 public:
  Clusterer() = default;
  Clusterer(const Clusterer&) = delete;
  Clusterer& operator=(const Clusterer&) = delete;
  ~Clusterer() { destroy(); }

  /// False: settings out of range (more than max_overall metrics, ...) or no memory. What `settings` points at is
  /// copied.
  [[nodiscard]] bool create(const Settings& settings);
  void destroy();

  /// `iteration` ascends from call to call.
  Added add(std::uint64_t iteration, const IterationProfile& profile);

  /// Adds iterations in which nothing was recorded, because they were over before a sample came, to the cluster that
  /// the last add() has told. The profile of that add() must have had no call path that is part of its class. The cost
  /// does not depend on their number.
  void add_untouched(Label label, const Untouched& iterations);

  /// Whether paths of this shape are part of the class of an iteration.
  bool tells_classes(std::uint8_t shape) const { return key_shape_[shape]; }

  /// Merges since the last drained(). The caller takes them to a file often: the list grows by at most two an add()
  /// while memory suffices.
  std::span<const Merge> merges() const { return merges_.view(); }
  void drained() { merges_.clear(); }

  /// Clusters are numbered 0 .. cluster_count()-1 in ascending order of label as long as nothing is added.
  std::uint32_t cluster_count() const { return cluster_count_; }
  ClusterView cluster(std::uint32_t index) const;
  std::uint32_t path_count(std::uint32_t index) const;
  /// Call path `row` of a cluster; row < path_count(index). The paths of its class first, in the order of their first
  /// touch. Sampled paths whose sums are all zero may be left out.
  PathRow path(std::uint32_t index, std::uint32_t row) const;

  std::uint32_t class_count() const { return static_cast<std::uint32_t>(classes_.size()); }
  std::size_t bytes_in_use() const;
  std::size_t bytes_mapped() const;
  /// What the profiles alone need: rows, sums of overall metrics, path lists of the classes; without statistics and
  /// search structures.
  std::size_t profile_bytes() const;
  /// What is needed beside the profiles to choose and to reconstruct: sketches, slopes.
  std::size_t search_bytes() const;

  /// For tests: with a mask of 0 all classes have the same hash.
  void mask_hashes(std::uint64_t mask) { hash_mask_ = mask; }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr std::size_t sketch_limit = max_flat * 4;
  static constexpr float huge_cost = 3e38F;
  /// Numbers per column in a sketch, clusters that are compared at once, and what the arrays of both are padded to.
  static constexpr std::uint32_t lanes = 4;
  /// Slopes are learned from every iteration of a class up to here, then from every sixteenth.
  static constexpr std::uint64_t eager_learning = 4096;
  static constexpr std::uint64_t learning_stride = 16;

  using Four = float __attribute__((vector_size(16)));

  /// A column of a shape, all shapes in one list.
  struct FlatColumn {
    std::uint8_t shape, column, overall, second;
    bool sketched;
    std::uint16_t sketch_begin;
  };
  struct PathClass {
    std::uint64_t hash;
    std::uint32_t next_of_hash;  ///< in the list of `class_lists_`
    std::uint32_t clusters, head;
    std::uint32_t favourite;  ///< slot that was nearest to an iteration last, when it still is of this class
    bool overflow;
    ClassBlock block;
    /// Flat columns for which products with the overall metric, and with the second one, have ever been added up.
    std::uint64_t regressed, regressed_twice;
    std::uint64_t adds;
    std::uint64_t next_refresh;
    /// Columns of the sketch that are not zero in all clusters, as sketch_begin / lanes: those of sampled shapes, then
    /// those of exact shapes, the most telling first.
    std::uint8_t order[sketch_limit / lanes];
    std::uint8_t sampled_count, order_count;
    std::uint8_t telling_count;  ///< those behind this one are as good as equal in all clusters
    std::uint64_t in_order;      ///< the same as flat columns
  };
  struct Cluster {
    Label label;
    std::uint32_t cls, next;
    std::uint32_t row;  ///< of the class's block
    std::uint64_t members, first, last, exemplar;
    std::byte* statistics;  ///< in statistics_: sum, min, max, squares, mean: 8 bytes each, then the exemplar's vector:
                            ///< 4 bytes each
    std::uint32_t nearest;  ///< nearest cluster of the class, as far as known
    std::uint64_t check_at;  ///< members at which `nearest` is looked for anew
  };

  std::int64_t* sums(const Cluster& c) const { return reinterpret_cast<std::int64_t*>(c.statistics); }
  std::int64_t* minima(const Cluster& c) const { return sums(c) + stride_; }
  std::int64_t* maxima(const Cluster& c) const { return sums(c) + 2 * stride_; }
  double* squares(const Cluster& c) const { return reinterpret_cast<double*>(sums(c) + 3 * stride_); }
  double* exact_means(const Cluster& c) const { return reinterpret_cast<double*>(sums(c) + 4 * stride_); }
  float* exemplar_vector(const Cluster& c) const { return reinterpret_cast<float*>(sums(c) + 5 * stride_); }
  ClassStatistics learned(const PathClass& cls) const { return blocks_.statistics(cls.block); }
  std::size_t statistics_bytes() const { return stride_ * (5 * 8 + 4); }
  float* mean_of(std::uint32_t slot) { return means_.data() + slot * stride_; }
  /// Number 0 of a sketch; the others follow at distances of `lanes`: sketches lie four beside each other.
  float* sketch_of(std::uint32_t slot) { return sketches_.data() + slot / lanes * lanes * sketch_dims_ + slot % lanes; }
  const float* sketch_of(std::uint32_t slot) const { return const_cast<Clusterer*>(this)->sketch_of(slot); }

  std::uint64_t flats_of(std::size_t shape) const {
    return ((std::uint64_t{1} << columns_[shape]) - 1) << flat_begin_[shape];
  }
  bool is_key_shape(const PathClass& cls, std::size_t shape) const { return key_shape_[shape] && !cls.overflow; }
  bool is_key(const TouchedPath& t) const { return key_shape_[t.shape]; }
  bool valid(const IterationProfile& profile) const;
  std::uint64_t hash_of(const IterationProfile& profile) const;
  bool matches(const PathClass& cls, const IterationProfile& profile);
  bool matches_in_order(const PathClass& cls, const IterationProfile& profile);
  std::uint32_t find_class(const IterationProfile& profile, std::uint64_t& hash);
  std::uint32_t& class_list(std::uint64_t hash) { return class_lists_[hash & (class_lists_.size() - 1)]; }
  bool reserve_class();
  std::uint32_t make_class(const IterationProfile& profile, std::uint64_t hash, bool overflow, Error& error);
  std::uint32_t overflow_class(const IterationProfile& profile);
  ClassBlock block_for(const IterationProfile& profile, bool overflow) const;
  std::size_t bytes_of_new_class(const IterationProfile& profile) const;
  bool fill_key(const ClassBlock& block, const IterationProfile& profile, std::uint8_t shape);

  bool take_newcomer_slot();
  void point_to_slot(std::uint32_t slot);
  void count_totals(const IterationProfile& profile);
  bool prepare_newcomer(PathClass& cls, const IterationProfile& profile);
  bool list_sparse(const PathClass& cls, const IterationProfile& profile);
  bool lay_out_deltas(const PathClass& cls);
  bool subtract_bases(const PathClass& cls);
  void sketch_newcomer(PathClass& cls);
  bool start_cluster(std::uint32_t cls, std::uint64_t iteration, const IterationProfile& profile);
  bool absorb(std::uint32_t slot, std::uint64_t iteration, const IterationProfile& profile);
  bool merge(std::uint32_t a, std::uint32_t b);
  void merge_to_make_room(const IterationProfile& profile);
  // rows.cpp
  bool find_places(const PathClass& cls);
  Rooms rooms_with_newcomer(const PathClass& cls) const;
  bool merge_for_longer_rows(const PathClass& cls);
  bool make_room(PathClass& cls, bool for_a_cluster);
  bool change_rooms(PathClass& cls, const Rooms& rooms);
  std::uint32_t rows_for_one_more(const PathClass& cls) const;
  void give_rows_back(PathClass& cls);
  std::int64_t* row_of(const Cluster& c) const { return blocks_.row(classes_[c.cls].block, c.row); }
  void add_newcomer_to_row(const PathClass& cls, std::int64_t* row) const;
  void learn_products(PathClass& cls, std::uint32_t slot, const Cluster* from);
  void free_row(PathClass& cls, std::uint32_t row);
  std::uint32_t list_rows(std::uint32_t slot) const;

  void add_to_statistics(Cluster& c, std::uint64_t iteration, const IterationProfile& profile);
  void add_to_statistics(Cluster& c, const Cluster& from);
  struct Slopes {
    float first = 0, second = 0;
  };
  Slopes slopes_of(const PathClass& cls, unsigned flat, std::uint32_t row) const;
  void refresh_sketches(PathClass& cls);
  void learn_slopes(PathClass& cls);
  void free_cluster(std::uint32_t slot);
  void members_changed(std::uint32_t slot);

  // The choice of what to merge.
  struct Pair {
    std::uint32_t a = none, b = none;
    float cost = 0;
  };
  Pair closest_pair();
  Pair look_for_closest_pair();
  float cost(std::uint32_t a, std::uint32_t b) const;
  float apart(const PathClass& cls, std::uint32_t slot, std::uint8_t begin, std::uint8_t end) const;
  template <class Ward, class Limit, class Cheaper>
  void for_cheaper(const PathClass& cls, std::uint32_t class_index, const Four* wanted, const Ward& ward_of,
                   const Limit& limit_of, const Cheaper& cheaper) const;
  void order_columns(PathClass& cls);
  void to_order(PathClass& cls, unsigned flat);
  void set_nearest(std::uint32_t slot, std::uint32_t nearest, float nearest_cost);
  void look_for_nearest(std::uint32_t slot);
  Pair nearest_to_newcomer(PathClass& cls, std::uint32_t class_index);

  Equivalence equivalence_ = Equivalence::Mpi;
  std::uint32_t max_clusters_ = 0;
  std::size_t memory_limit_ = 0;
  std::uint64_t hash_mask_ = ~std::uint64_t{0};
  std::size_t metrics_ = 0;
  std::size_t stride_ = 0;  ///< metrics_, up to a multiple of lanes: arrays per metric are padded with zeros
  std::size_t shapes_ = 0;
  std::size_t flat_count_ = 0;
  std::size_t sketch_dims_ = 0;
  bool exact_[max_shapes] = {};
  bool key_shape_[max_shapes] = {};  ///< its paths are part of the class
  std::uint8_t visits_[max_shapes] = {};
  std::uint8_t columns_[max_shapes] = {};
  std::uint8_t flat_begin_[max_shapes] = {};
  FlatColumn flat_[max_flat] = {};
  std::uint8_t sketched_[sketch_limit / lanes] = {};  ///< flat columns in the sketch, by sketch_begin
  std::size_t sketched_count_ = 0;
  std::uint64_t all_sketched_ = 0;  ///< the same as a set

  ClassBlocks blocks_;
  platform::GrowableArray<PathClass> classes_;
  platform::GrowableArray<std::uint32_t> class_lists_;  ///< a power of two, by hash: the first class of a list
  platform::GrowableArray<Cluster> clusters_;           ///< by slot; one of them is the newcomer's
  platform::GrowableArray<std::uint32_t> free_slots_;
  platform::GrowableArray<std::byte> statistics_;  ///< slot x statistics_bytes()
  platform::GrowableArray<float> means_;           ///< slot x metric
  /// Sketch of the mean of the call paths' values, less what the overall metrics explain, scaled.
  platform::GrowableArray<float> sketches_;            ///< four slots x dimension x slot of the four
  platform::GrowableArray<std::uint32_t> slot_class_;  ///< by slot, padded; none: no cluster
  platform::GrowableArray<float> members_;             ///< by slot, padded
  platform::GrowableArray<Merge> merges_;
  mutable platform::GrowableArray<std::uint32_t> order_;  ///< slots by label
  mutable bool order_valid_ = false;
  std::uint32_t cluster_count_ = 0;
  std::uint32_t next_label_ = 0;
  std::uint32_t overflow_class_ = none;
  std::uint32_t last_class_ = none;
  std::uint32_t told_ = none;  ///< slot of the cluster that the last add() has told

  std::uint64_t iterations_ = 0;
  alignas(16) double total_[max_overall] = {};  ///< of all iterations, for the running means
  alignas(16) float inverse_mean_[max_overall] = {};
  std::uint64_t next_mean_ = 0;  ///< iterations at which the inverse means are computed anew

  float sampled_doubt_ = 0;  ///< part of a cost that sampling alone explains
  /// Per flat column: sum over iterations, as many as `noise_weight_` says, of the variance that sampling gives the
  /// values.
  double sampling_noise_[max_flat] = {};
  double noise_weight_ = 0;
  Pair closest_;  ///< what look_for_closest_pair() has found
  bool closest_known_ = false;

  // The iteration in hand.
  std::uint32_t newcomer_ = none;  ///< slot of its mean
  alignas(16) float newcomer_sketch_[sketch_limit] = {};
  alignas(16) double newcomer_overall_[max_overall] = {};
  bool learning_ = true;  ///< slopes and noise are learned from it
  bool sparse_listed_ = false;
  platform::GrowableArray<const std::int64_t*> key_values_;  ///< by position among the class's key paths
  platform::GrowableArray<std::int64_t> deltas_;             ///< shape, column, path padded with zeros: value - base
  std::uint32_t delta_begin_[max_flat] = {};                 ///< by flat column
  std::uint32_t delta_class_ = none;                         ///< whose paths they are laid out for
  std::uint64_t delta_nonzero_ = 0;                          ///< flat columns with a delta
  platform::GrowableArray<float> signs_;
  platform::GrowableArray<float> nearest_costs_;  ///< by slot, of the cluster's nearest; huge: it has none
  platform::GrowableArray<float> wards_;  ///< by slot, padded: members / (members + 1), of Ward's cost of a newcomer
  /// The profile's paths that are not in the class's key, shape after shape.
  platform::GrowableArray<TouchedPath> sparse_;
  std::uint32_t sparse_begin_[max_shapes + 1] = {};
  platform::GrowableArray<std::uint32_t> found_;  ///< by index in `sparse_`: place in a row, or ClassBlocks::none
  std::uint32_t new_paths_ = 0, new_values_ = 0;  ///< of `sparse_`, that the class does not list yet
  /// Sampled call paths of cluster `rows_of_` whose sums are not all zero, as positions in the class's list.
  mutable platform::GrowableArray<std::uint32_t> rows_;
  mutable std::uint32_t rows_of_ = none;
};

}  // namespace refrain::clustering
