#pragma once
/// Groups the iterations of one loop of a location as they come into at most `max_clusters` profiles, whatever their
/// number.
///
/// The idea is that of Szebenyi, Wolf, Wylie, "Performance Analysis of Long-running Applications", section IV: only
/// iterations of one class (types.hpp, Equivalence) share a cluster. A cluster keeps exact 64-bit sums over its members
/// of every overall metric and of every column of every call path; the sums of all clusters add up to the run. The
/// profiles of a class are one matrix with a row per cluster, in which the columns of a call path are adjacent.
///
/// No I/O, no MPI, no threads. One per loop of a location, used by one thread at a time in ordinary context (not in
/// handlers). Deterministic for the same input.
///
/// Memory: mapped pages only. When `memory_limit` is reached, clusters are merged. Iterations for which there is still
/// no room, and those of classes beyond the limit, share the overflow cluster, which grows with the call paths that
/// they touch. Errors: an iteration for which the kernel has no memory is refused as a whole, and no sum changes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "clustering/types.hpp"
#include "clustering/vectors.hpp"
#include "platform/hash_index.hpp"
#include "platform/pages.hpp"

namespace refrain::clustering {

/// Cluster `from` has become part of cluster `to`. Applied in the order of time, merges map a label to its cluster.
struct Merge {
  Label from;
  Label to;
};
/// A merge as it was made. `is_logged`: the log refers to `from`, or to a cluster that became part of it.
struct MadeMerge : Merge {
  bool is_logged;
};

/// The present state of a cluster. Valid until the next add().
struct ClusterView {
  Label label;
  std::uint32_t class_index;
  bool overflow;  ///< shared by classes for which there was no room: its call paths are a union
  std::uint64_t members;
  std::uint64_t first, last;  ///< iterations
  /// A member near the mean, chosen online: of the present exemplar and the newcomer, the one that is nearer to the
  /// present mean. A member that was replaced is not considered again.
  std::uint64_t exemplar;
  std::span<const std::int64_t> sum, minimum, maximum;  ///< by overall metric
  /// By overall metric: sum of the squared distances from the mean; the variance is this / members.
  std::span<const double> squares;
};

/// One call path of a cluster.
struct PathRow {
  PathId path;
  std::uint8_t shape;
  std::uint32_t columns;
  bool has_slopes;
  std::int64_t sum[max_columns];    ///< over the cluster's members
  float slope[max_columns];         ///< for reconstruct(); of the path's class, valid if has_slopes
  float second_slope[max_columns];  ///< on the second overall metric, 0 for columns without one
};

class Clusterer {
 public:
  Clusterer() = default;
  Clusterer(const Clusterer&) = delete;
  Clusterer& operator=(const Clusterer&) = delete;
  ~Clusterer();

  /// To be called once. False: settings are out of range (more than max_overall metrics, ...), or there is no memory.
  /// Everything that `settings` points at is copied.
  [[nodiscard]] bool create(const Settings& settings);

  /// Adds an iteration; `iteration` ascends from call to call. Returns the label of its cluster. no_label: it was
  /// refused because there is no memory, or the profile has other metrics or shapes than the settings.
  Label add(std::uint64_t iteration, const IterationProfile& profile);

  /// The log refers to the cluster that has received the last iteration.
  void note_logged() { clusters_[last_slot_].is_logged = true; }
  /// Merges since the last drained(). The caller is to write them to a file often.
  std::span<const MadeMerge> merges() const { return merges_.view(); }
  void drained() { merges_.clear(); }

  /// Clusters are numbered 0 .. cluster_count()-1 in ascending order of label until the next add().
  std::uint32_t cluster_count() const { return cluster_count_; }
  ClusterView cluster(std::uint32_t index) const;
  /// Calls `visit(const PathRow&)` for the call paths of a cluster: those of its class in the order of their first
  /// touch, then others whose sums are not all zero. Ends early and returns false when `visit` does.
  template <class Visit>
  bool for_each_path(std::uint32_t index, Visit&& visit) const {
    const Cluster& c = clusters_[slot_of(index)];
    const IterationClass& cls = classes_[c.cls];
    for (std::uint32_t i = 0; i < cls.key_paths; ++i)
      if (!visit(row_of(c, cls.first_path + i, true))) return false;
    for (std::uint32_t path = cls.first_other; path != none; path = paths_[path].next)
      if (is_touched(c, path) && !visit(row_of(c, path, false))) return false;
    return true;
  }

  std::uint32_t class_count() const { return static_cast<std::uint32_t>(classes_.size()); }
  std::size_t bytes_in_use() const;

  /// For tests: with a mask of 0 all classes have the same hash.
  void mask_hashes(std::uint64_t mask) { hash_mask_ = mask; }

 private:
  friend struct ClustererMemory;  // tests/unit/clustering/clusterer_memory.hpp
  static constexpr std::uint32_t none = platform::HashIndex::none;
  static constexpr std::size_t max_flat = 64;
  static constexpr std::size_t sketch_limit = max_flat * 4;
  static constexpr float huge_cost = 3e38F;
  /// Numbers per column in a sketch, and clusters that are compared at once. Arrays of both are padded to a multiple.
  static constexpr std::uint32_t lanes = 4;
  /// Columns of all shapes, padded for each shape.
  static constexpr std::size_t max_padded = max_flat + max_shapes * (lanes - 1);
  /// Limit for the number of classes with clusters of their own, unless max_clusters_ is larger. Memory must not grow
  /// for ever in a program in which each iteration has another call tree.
  static constexpr std::uint32_t max_classes = 1024;
  /// Slopes are learned from this many iterations of a class, then from every sixteenth.
  static constexpr std::uint64_t eager_learning = 4096;
  static constexpr std::uint64_t learning_stride = 16;

  /// A column of a shape, in a list over all shapes.
  struct FlatColumn {
    std::uint8_t shape, column, overall, second;
    bool sketched;
    std::uint16_t sketch_begin;
  };
  /// A call path of a class. The key paths, which define the class, are contiguous and have the first columns of its
  /// profiles. Other paths come behind them as they become known.
  struct ClassPath {
    std::uint32_t path;
    std::uint32_t cls;
    std::uint32_t at;    ///< its first column in a profile of the class
    std::uint32_t next;  ///< the class's next path that is not a key
    std::uint8_t shape;
  };
  /// The pooled sums inside clusters of products of a path's value with the overall metrics that its column scales
  /// with.
  struct Products {
    float first, second;
  };
  /// Bytes per call path, including its slots in the index.
  static constexpr std::size_t path_bytes = sizeof(ClassPath) + 32;
  struct IterationClass {
    std::uint32_t first_path, key_paths;     ///< index in paths_ and number of key paths
    std::uint32_t paths;                     ///< number of all paths
    std::uint32_t first_other, last_other;   ///< linked list of the other paths, indices in paths_; none
    std::uint32_t key_count[max_shapes];     ///< number of key paths by shape
    std::uint32_t key_width, width, stride;  ///< values in a profile: of key paths, of all paths; allocated
    std::uint32_t clusters, head;
    std::uint32_t favourite;  ///< slot that was nearest to the last iteration, if it still belongs to this class
    bool overflow;

    std::byte* block;  ///< pages with the arrays below; moves when it grows
    std::size_t block_bytes;
    double* overall_scatter;  ///< by flat column: pooled sum of squares of its overall metric
    double* second_scatter;   ///< by flat column: pooled sum of squares of its second overall metric
    double* cross_scatter;    ///< by flat column: pooled sum of products of the two
    float* slope_sketch;      ///< sketch of the slopes, whose part is subtracted from the sketches of clusters
    float* second_sketch;     ///< likewise of the second slopes
    float* direction;         ///< sampled columns: sums of the sketch, then of the overall metric by flat column
    float* scale;             ///< by flat column: the factor of the sketches of clusters
    std::int64_t* base;       ///< key values of the class's first iteration, which sketches and slopes are relative to
    Products* products;       ///< by value of key paths
    std::int64_t* profiles;   ///< cluster x stride; unused values of a row are 0

    std::uint64_t adds;
    std::uint64_t next_refresh;
    /// Columns of the sketch that are not zero in all clusters, as sketch_begin / lanes: those of sampled shapes, then
    /// those of exact shapes, each in descending order of how much they distinguish clusters.
    std::uint8_t order[sketch_limit / lanes];
    std::uint8_t sampled_count, order_count;
    std::uint8_t telling_count;  ///< columns from this one on are practically equal in all clusters
    std::uint64_t in_order;      ///< the columns of `order`, as a set of flat columns
  };
  struct Cluster {
    Label label;
    std::uint32_t cls, next;
    std::uint32_t row;  ///< in the profiles of the class, which has rows 0 .. clusters-1
    std::uint64_t members, first, last, exemplar;
    std::uint32_t nearest;   ///< nearest cluster of the class, as far as known
    bool is_logged;          ///< the log refers to the cluster
    std::uint64_t check_at;  ///< number of members at which `nearest` is searched anew
  };

  /// The statistics of a cluster: sum, min, max, squares, mean, 8 bytes each, then the exemplar's vector, 4 bytes each.
  std::byte* statistics_of(std::uint32_t slot) { return statistics_.data() + slot * statistics_bytes(); }
  const std::byte* statistics_of(std::uint32_t slot) const { return statistics_.data() + slot * statistics_bytes(); }
  template <class Number, class Bytes>
  auto* part(Bytes* statistics, std::size_t number) const {
    using Result = std::conditional_t<std::is_const_v<Bytes>, const Number, Number>;
    return reinterpret_cast<Result*>(statistics + number * stride_ * 8);
  }
  auto* sums(auto* statistics) const { return part<std::int64_t>(statistics, 0); }
  auto* minima(auto* statistics) const { return part<std::int64_t>(statistics, 1); }
  auto* maxima(auto* statistics) const { return part<std::int64_t>(statistics, 2); }
  auto* squares(auto* statistics) const { return part<double>(statistics, 3); }
  auto* exact_means(auto* statistics) const { return part<double>(statistics, 4); }
  auto* exemplar_vector(auto* statistics) const { return part<float>(statistics, 5); }
  std::size_t statistics_bytes() const { return stride_ * (5 * 8 + 4); }
  float* mean_of(std::uint32_t slot) { return means_.data() + slot * stride_; }
  /// Number 0 of a sketch; the next ones are at distances of `lanes`, as four sketches are interleaved.
  float* sketch_of(std::uint32_t slot) { return sketches_.data() + slot / lanes * lanes * sketch_dims_ + slot % lanes; }
  const float* sketch_of(std::uint32_t slot) const { return const_cast<Clusterer*>(this)->sketch_of(slot); }
  std::int64_t* profile_of(const Cluster& c) const {
    const IterationClass& cls = classes_[c.cls];
    return cls.profiles + std::size_t{c.row} * cls.stride;
  }

  std::uint64_t flats_of(std::size_t shape) const {
    return ((std::uint64_t{1} << columns_[shape]) - 1) << flat_begin_[shape];
  }
  std::uint32_t slot_of(std::uint32_t index) const;
  PathRow row_of(const Cluster& c, std::uint32_t path, bool key) const;
  bool is_touched(const Cluster& c, std::uint32_t path) const;

  // classes.cpp
  bool is_key(const TouchedPath& t) const { return key_shape_[t.shape]; }
  bool is_valid(const IterationProfile& profile) const;
  bool reserve_newcomer(const IterationProfile& profile);
  std::uint64_t hash_of(const IterationProfile& profile) const;
  std::uint64_t hash_of_path(std::uint32_t cls, std::uint32_t path, std::uint8_t shape) const;
  std::uint32_t find_path(std::uint32_t cls, const TouchedPath& t) const;
  void add_path(IterationClass& cls, std::uint32_t number, const TouchedPath& t);
  bool has_same_visits(const IterationClass& cls, const ClassPath& path, const TouchedPath& t) const;
  bool matches(std::uint32_t cls, const IterationProfile& profile);
  bool matches_in_order(const IterationClass& cls, const IterationProfile& profile);
  std::uint32_t class_of(const IterationProfile& profile);
  std::uint32_t make_class(std::uint64_t hash, const IterationProfile& profile);
  std::uint32_t overflow_class(const IterationProfile& profile);
  bool find_other_columns(std::uint32_t cls);

  // newcomer.cpp
  void count_totals(const IterationProfile& profile);
  std::uint64_t add_up_keys(const IterationClass& cls, float* sums) const;
  void sketch_newcomer(IterationClass& cls);
  void learn_slopes(IterationClass& cls);

  // storage.cpp
  bool take_newcomer_slot();
  bool fits(std::size_t more, std::size_t less = 0) const {
    return bytes_in_use() + more <= memory_limit_ + overflow_bytes() + less;
  }
  std::size_t overflow_bytes() const;
  std::size_t class_floats() const { return 3 * sketch_dims_ + 2 * flat_count_; }
  std::size_t head_bytes(std::uint32_t key_width) const;
  std::size_t block_bytes(std::uint32_t key_width, std::uint32_t clusters, std::uint32_t stride) const;
  static std::uint32_t roomy(std::uint32_t width, std::uint32_t key_width);
  bool resize(IterationClass& cls, std::uint32_t clusters, std::uint32_t stride);
  void trim(IterationClass& cls);
  bool reserve_row(IterationClass& cls);
  bool reserve_width(IterationClass& cls, std::uint32_t width, std::uint32_t paths);
  void add_to_profile(const IterationClass& cls, std::int64_t* profile);
  template <class Incoming>
  void learn_products(IterationClass& cls, std::uint32_t into, const float* mean, double members,
                      const Incoming& incoming);
  void start_cluster(std::uint32_t cls, std::uint64_t iteration, const IterationProfile& profile);
  void absorb(std::uint32_t slot, std::uint64_t iteration, const IterationProfile& profile);
  bool merge(std::uint32_t a, std::uint32_t b);
  void add_to_statistics(std::uint32_t slot, std::uint64_t iteration, const IterationProfile& profile);
  void add_to_statistics(std::uint32_t slot, const Cluster& from, const std::byte* statistics);
  void free_cluster(std::uint32_t slot);
  void members_changed(std::uint32_t slot);

  // choice.cpp
  struct Slopes {
    float first = 0, second = 0;
  };
  struct Pair {
    std::uint32_t a = none, b = none;
    float cost = 0;
  };
  std::uint32_t choose(std::uint32_t cls);
  Slopes slopes_of(const IterationClass& cls, unsigned flat, std::uint32_t value) const;
  void refresh_sketches(IterationClass& cls);
  void order_columns(IterationClass& cls);
  void add_to_order(IterationClass& cls, unsigned flat);
  float cost(std::uint32_t a, std::uint32_t b) const;
  float apart(const IterationClass& cls, std::uint32_t slot, std::uint8_t begin, std::uint8_t end) const;
  template <class Ward, class Limit, class Cheaper>
  void for_cheaper(const IterationClass& cls, std::uint32_t class_index, const Four* wanted, const Ward& ward_of,
                   const Limit& limit_of, const Cheaper& cheaper) const;
  void set_nearest(std::uint32_t slot, std::uint32_t nearest, float nearest_cost);
  void find_nearest(std::uint32_t slot);
  Pair closest_pair();
  Pair find_closest_pair();
  Pair closest_pair_of(const IterationClass& cls) const;
  Pair nearest_to_newcomer(IterationClass& cls, std::uint32_t class_index);

  Equivalence equivalence_ = Equivalence::Mpi;
  std::uint32_t max_clusters_ = 0;
  std::size_t memory_limit_ = 0;
  std::uint64_t hash_mask_ = ~std::uint64_t{0};
  std::size_t metrics_ = 0;
  std::size_t stride_ = 0;  ///< metrics_, rounded up to a multiple of lanes; arrays by metric are padded with zeros
  std::size_t shapes_ = 0;
  std::size_t flat_count_ = 0;
  std::size_t sketch_dims_ = 0;
  bool exact_[max_shapes] = {};
  bool key_shape_[max_shapes] = {};  ///< paths of the shape are key paths
  std::uint8_t visits_[max_shapes] = {};
  std::uint8_t columns_[max_shapes] = {};
  std::uint8_t flat_begin_[max_shapes] = {};
  std::uint8_t padded_begin_[max_shapes] = {};  ///< first padded column of each shape
  std::uint8_t padded_count_ = 0;
  FlatColumn flat_[max_flat] = {};
  std::uint8_t sketched_[sketch_limit / lanes] = {};  ///< flat columns in the sketch, by sketch_begin
  std::size_t sketched_count_ = 0;
  std::uint64_t all_sketched_ = 0;  ///< likewise, as a set

  platform::GrowableArray<IterationClass> classes_;
  platform::HashIndex class_table_;  ///< by hash_of() of the first profile; without the overflow class
  platform::GrowableArray<ClassPath> paths_;
  platform::HashIndex path_index_;             ///< by hash_of_path()
  std::size_t blocks_ = 0;                     ///< bytes of the blocks of all classes
  platform::GrowableArray<Cluster> clusters_;  ///< by slot, including the newcomer's
  platform::GrowableArray<std::uint32_t> free_slots_;
  platform::GrowableArray<std::byte> statistics_;  ///< slot x statistics_bytes()
  platform::GrowableArray<float> means_;           ///< slot x metric
  /// Scaled sketch of the mean of the call paths' values, without the part that the overall metrics explain.
  platform::GrowableArray<float> sketches_;            ///< four slots x dimension x slot of the four
  platform::GrowableArray<std::uint32_t> slot_class_;  ///< by slot, padded; none: no cluster
  platform::GrowableArray<float> members_;             ///< by slot, padded
  platform::GrowableArray<float> nearest_costs_;       ///< by slot: cost of merging with the nearest; huge: none
  platform::GrowableArray<float> wards_;  ///< by slot, padded: members / (members + 1), for Ward's cost of a newcomer
  platform::GrowableArray<MadeMerge> merges_;
  mutable platform::GrowableArray<std::uint32_t> order_;  ///< slots by label
  mutable bool order_valid_ = false;
  std::uint32_t cluster_count_ = 0;
  std::uint32_t next_label_ = 0;
  std::uint32_t overflow_class_ = none;
  std::uint32_t last_class_ = none;
  std::uint32_t last_slot_ = none;  ///< slot of the cluster that has received the last iteration

  std::uint64_t iterations_ = 0;
  alignas(16) double total_[max_overall] = {};  ///< of all iterations, for the running means
  alignas(16) float inverse_mean_[max_overall] = {};
  std::uint64_t next_mean_ = 0;  ///< number of iterations at which the inverse means are computed anew

  float sampled_doubt_ = 0;  ///< part of a cost that sampling alone explains
  /// By flat column: sum, over `noise_weight_` iterations, of the variance of the values due to sampling.
  double sampling_noise_[max_flat] = {};
  double noise_weight_ = 0;
  Pair closest_;  ///< result of find_closest_pair()
  bool closest_known_ = false;

  // The iteration that is being added.
  std::uint32_t newcomer_ = none;  ///< slot of its mean
  alignas(16) float newcomer_sketch_[sketch_limit] = {};
  alignas(16) double newcomer_overall_[max_overall] = {};
  bool learning_ = true;                                     ///< slopes and noise are learned from it
  platform::GrowableArray<const std::int64_t*> key_values_;  ///< by key path of its class
  platform::GrowableArray<TouchedPath> others_;              ///< its paths that are not key paths ...
  platform::GrowableArray<std::uint32_t> other_at_;          ///< ... and their first columns in the class's profiles
  std::uint32_t other_count_ = 0;
  platform::GrowableArray<float> signs_;  ///< of the sketch, by number of a key path in its shape
};

}  // namespace refrain::clustering
