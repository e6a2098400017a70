#pragma once
/// The clustering as it was before profiles became flat: the truth that differential_test.cpp compares with. It goes
/// when the figures of the flat one have been measured.
///
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

#include <cstddef>
#include <cstdint>
#include <span>

#include "clustering/types.hpp"
#include "platform/pages.hpp"
#include "tests/unit/clustering/former/block_heap.hpp"
#include "tests/unit/clustering/former/packed_table.hpp"

namespace refrain::clustering::former {

enum class Algorithm : std::uint8_t { Refrain, Paper, ScorePShipped };

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
  [[nodiscard]] bool create(const Settings& settings, Algorithm algorithm = Algorithm::Refrain);
  void destroy();

  /// `iteration` ascends from call to call.
  Added add(std::uint64_t iteration, const IterationProfile& profile);

  /// Adds iterations in which nothing was recorded, because they were over before a sample came, to the cluster that
  /// the last add() has told. The profile of that add() must have had no call path that is part of its class. The cost
  /// does not depend on their number.
  void add_untouched(Label label, const Untouched& iterations);

  /// Whether paths of this shape are part of the class of an iteration.
  bool tells_classes(std::uint8_t shape) const { return key_shape_[shape]; }

  /// Merges since the last drained(). The caller takes them to a file often: the list grows by at most two an add().
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
  /// What `refrain` needs beside the profiles to choose and to reconstruct: sketches, slopes.
  std::size_t search_bytes() const;

  /// For tests: with a mask of 0 all classes have the same hash.
  void mask_hashes(std::uint64_t mask) { hash_mask_ = mask; }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr std::size_t max_flat = 64;
  static constexpr std::size_t sketch_limit = max_flat * 4;
  static constexpr float huge_cost = 3e38F;
  /// Numbers per column in a sketch, clusters that are compared at once, and what the arrays of both are padded to.
  static constexpr std::uint32_t lanes = 4;
  /// Iterations after which a class is settled.
  static constexpr std::uint64_t young_iterations = 1024;
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
  /// The paths of one shape that are in a class's key.
  struct Part {
    std::uint32_t count;
    std::uint32_t first;     ///< index of its first path among all key paths of the class
    std::uint32_t* paths;    ///< in the order of first touch
    std::uint32_t* by_path;  ///< indices into `paths`, ascending by path
    PackedTable base;        ///< values of the class's first iteration; rows of clusters hold sum - members x base
    /// Per column, made when it is first needed: per path, the pooled sum inside clusters of products with the overall
    /// metric.
    float** scatter;
    float** second_scatter;  ///< the same with the second overall metric, for columns that have one
  };
  /// The paths of one shape of a settled class that are not in its key.
  struct PathList {
    std::uint32_t count, capacity;
    std::uint32_t* paths;  ///< in the order in which they came to be known
    std::uint64_t* index;  ///< open addressing: path << 32 | position + 1; 0: free
    std::uint32_t index_bits;
    Widths widths;  ///< of the columns, the same in all clusters
  };
  /// A class is young at first: rows of its clusters are as narrow as their values allow and sampled paths are those
  /// that members have touched. Then it is settled: columns that vary have full width, and every sampled path that any
  /// iteration of the class has touched has room in all of its clusters. From there on memory grows with the call paths
  /// that are new to the class, not with its iterations.
  struct PathClass {
    std::uint64_t hash;
    std::uint32_t next_of_hash;  ///< in the list of `class_lists_`
    std::uint32_t key_paths;
    std::uint32_t clusters, head;
    std::uint32_t favourite;  ///< slot that was nearest to an iteration last, when it still is of this class
    bool overflow;
    bool settled;
    std::uint64_t settle_at;  ///< adds at which it is to be settled
    std::uint32_t layout;     ///< number of the present layout of tables: `wide` and `lists`; 0: not settled
    std::uint64_t wide;       ///< settled: flat columns of key paths that tables have room for
    PathList* lists;          ///< settled: per shape
    Part* parts;              ///< per shape
    std::uint64_t varies;     ///< flat columns whose values have ever differed from the base
    double* overall_scatter;  ///< per flat column: pooled sum of squares of its overall metric
    double* second_scatter;   ///< per flat column: of its second overall metric
    double* cross_scatter;    ///< per flat column: pooled sum of products of the two
    float* slope_sketch;      ///< sketch of the slopes, which has been taken away from the sketches of clusters
    float* second_sketch;     ///< the same of the second slopes
    float* direction;         ///< sampled columns: sums of the sketch, then of the overall metric per flat column
    float* scale;             ///< per flat column: what the sketches of clusters have been multiplied with
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
    std::uint32_t layout;  ///< of the class, that the tables have; 0: those of a young class
    std::uint64_t members, first, last, exemplar;
    std::byte* statistics;  ///< in statistics_: sum, min, max, squares, mean: 8 bytes each, then the exemplar's vector:
                            ///< 4 bytes each
    PackedTable* tables;    ///< in tables_: per shape: dense, then per shape: sparse, or rows as in the class's lists
    std::uint32_t nearest;  ///< `refrain`: nearest cluster of the class, as far as known
    std::uint64_t check_at;  ///< members at which `nearest` is looked for anew
  };

  std::int64_t* sums(const Cluster& c) const { return reinterpret_cast<std::int64_t*>(c.statistics); }
  std::int64_t* minima(const Cluster& c) const { return sums(c) + stride_; }
  std::int64_t* maxima(const Cluster& c) const { return sums(c) + 2 * stride_; }
  double* squares(const Cluster& c) const { return reinterpret_cast<double*>(sums(c) + 3 * stride_); }
  double* exact_means(const Cluster& c) const { return reinterpret_cast<double*>(sums(c) + 4 * stride_); }
  float* exemplar_vector(const Cluster& c) const { return reinterpret_cast<float*>(sums(c) + 5 * stride_); }
  std::size_t class_floats() const { return 3 * sketch_dims_ + 2 * flat_count_; }
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
  bool fill_part(Part& part, const IterationProfile& profile, std::uint8_t shape);
  void free_class(PathClass& cls);
  std::size_t bytes_of_new_class(const IterationProfile& profile) const;

  bool take_newcomer_slot();
  void point_to_slot(std::uint32_t slot);
  void count_totals(const IterationProfile& profile);
  bool prepare_newcomer(PathClass& cls, const IterationProfile& profile);
  bool list_sparse(const PathClass& cls, const IterationProfile& profile);
  std::uint64_t subtract_base(const Part& part, unsigned column, std::int64_t* out) const;
  bool reserve_work(const PathClass& cls);
  bool lay_out_deltas(const PathClass& cls);
  bool subtract_bases(const PathClass& cls);
  void sketch_newcomer(PathClass& cls);
  bool start_cluster(std::uint32_t cls, std::uint64_t iteration, const IterationProfile& profile);
  bool absorb(std::uint32_t slot, std::uint64_t iteration, const IterationProfile& profile);
  bool merge(std::uint32_t a, std::uint32_t b);
  bool stage_dense(const PathClass& cls, const Cluster& into, const Cluster* from);
  bool stage_sparse(const Cluster& into);
  bool stage_sparse(const Cluster& into, const Cluster& from);
  void commit_dense(PathClass& cls, Cluster& into, const Cluster* from);
  void commit_sparse(Cluster& into);
  void swap_in_staged(Cluster& into, std::size_t index);
  void drop_staged();
  void find_rows(const PackedTable& table, std::size_t shape);
  const std::int64_t* incoming(unsigned flat, const Cluster* from);
  const float* incoming_floats(const Part& part, const std::int64_t* values);
  // settled.cpp
  void settle(PathClass& cls);
  bool make_lists(PathClass& cls);
  bool reserve(PathList& list, std::uint32_t count);
  static std::uint32_t position_in(const PathList& list, std::uint32_t path);
  static void insert(PathList& list, std::uint32_t path);
  void free_list(PathList& list);
  std::size_t total_capacity(const PathClass& cls) const;
  std::uint32_t wanted_layout(const PathClass& cls, std::size_t table, Widths& widths) const;
  bool follow(const PathClass& cls, Cluster& c);
  void changed_layout(PathClass& cls);
  bool find_positions(PathClass& cls);
  bool stage_settled(PathClass& cls, Cluster* into);
  bool stage_settled(PathClass& cls, Cluster& into, Cluster& from);
  bool allocate_settled(const PathClass& cls, Cluster& c);
  void commit_settled(Cluster& into);
  void commit_settled(const PathClass& cls, Cluster& into, const Cluster& from);
  void add_deltas(const PathClass& cls, Cluster& into);
  std::uint32_t list_rows(std::uint32_t slot) const;

  void add_to_statistics(Cluster& c, std::uint64_t iteration, const IterationProfile& profile);
  void add_to_statistics(Cluster& c, const Cluster& from);
  struct Slopes {
    float first = 0, second = 0;
  };
  Slopes slopes_of(const PathClass& cls, const Part& part, unsigned flat, std::uint32_t row) const;
  float* scatter_of(float** scatters, unsigned column, std::uint32_t count);
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
  Pair closest_pair_of_means(std::uint32_t newcomer, std::uint32_t newcomer_class);
  Pair closest_by_sweep(std::uint32_t count, std::size_t dims, std::uint32_t newcomer, float at_least);
  Pair closest_as_shipped(std::uint32_t count, const std::size_t* used, std::size_t dims, std::uint32_t newcomer) const;
  Pair closest_pair_of_sketches();
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
  void newcomer_is_neighbour(std::uint32_t slot);

  Algorithm algorithm_ = Algorithm::Refrain;
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
  bool in_distance_[max_overall] = {};

  BlockHeap heap_;
  platform::GrowableArray<PathClass> classes_;
  platform::GrowableArray<std::uint32_t> class_lists_;  ///< a power of two, by hash: the first class of a list
  platform::GrowableArray<Cluster> clusters_;           ///< by slot; one of them is the newcomer's
  platform::GrowableArray<std::uint32_t> free_slots_;
  platform::GrowableArray<std::byte> statistics_;  ///< slot x statistics_bytes()
  platform::GrowableArray<PackedTable> tables_;    ///< slot x 2 shapes_
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

  std::uint64_t iterations_ = 0;
  alignas(16) double total_[max_overall] = {};  ///< of all iterations, for the running means
  alignas(16) float inverse_mean_[max_overall] = {};
  std::uint64_t next_mean_ = 0;  ///< iterations at which the inverse means are computed anew
  std::uint64_t integer_total_[max_overall] = {};

  platform::GrowableArray<std::uint64_t> integer_means_;  ///< slot x metric, ScorePShipped only

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
  platform::GrowableArray<float>
      delta_floats_;  ///< the same; undefined where a column has no delta, and when not learning
  std::uint32_t delta_begin_[max_flat] = {};  ///< by flat column, in both
  std::uint32_t delta_class_ = none;          ///< whose paths they are laid out for
  std::uint64_t delta_nonzero_ = 0;           ///< flat columns with a delta
  platform::GrowableArray<float> signs_;
  platform::GrowableArray<float> nearest_costs_;  ///< by slot, of the cluster's nearest; huge: it has none
  platform::GrowableArray<float> wards_;  ///< by slot, padded: members / (members + 1), of Ward's cost of a newcomer
  /// The profile's paths that are not in the class's key, shape after shape.
  platform::GrowableArray<TouchedPath> sparse_;
  std::uint32_t sparse_begin_[max_shapes + 1] = {};
  // Work space.
  platform::GrowableArray<std::int64_t> work_, work_b_;
  platform::GrowableArray<std::uint32_t> found_, missing_, pick_a_, pick_b_;
  platform::GrowableArray<float> normalised_, work_floats_;
  mutable platform::GrowableArray<std::uint32_t> rows_;  ///< of cluster `rows_of_` that are not zero, shape after shape
  mutable std::uint32_t row_begin_[max_shapes + 1] = {};
  mutable std::uint32_t rows_of_ = none;
  PackedTable staged_[2 * max_shapes] = {};
  bool is_staged_[2 * max_shapes] = {};
};

}  // namespace refrain::clustering::former
