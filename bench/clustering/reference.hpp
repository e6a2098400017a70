#pragma once
/// The algorithms that Refrain's is compared with. The class has those members of clustering::Clusterer that
/// evaluate.cpp calls. The code is simple rather than fast: each iteration gets a cluster, and while there are more
/// clusters than allowed, the closest pair of a class (iterations with the same exact call paths) is merged.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "clustering/clusterer.hpp"

namespace refrain::bench {

enum class Algorithm : std::uint8_t {
  Refrain,        ///< see docs/clustering.md
  Paper,          ///< Szebenyi, Wolf, Wylie: Performance Analysis of Long-running Applications, section IV
  ScorePShipped,  ///< Paper as Score-P implements it, with unsigned subtraction that wraps and with integer means
  Plain           ///< Ward's cost of the overall metrics alone, which needs no sketches and no slopes
};

class ReferenceClusterer {
 public:
  /// `algorithm` must not be Algorithm::Refrain. `in_distance` selects the overall metrics that are compared.
  ReferenceClusterer(Algorithm algorithm, std::uint32_t max_clusters, const std::vector<bool>& in_distance,
                     std::span<const clustering::Shape> shapes);

  clustering::Label add(std::uint64_t iteration, const clustering::IterationProfile& profile);
  std::span<const clustering::Merge> merges() const { return merges_; }
  void drained() { merges_.clear(); }
  std::uint32_t cluster_count() const { return static_cast<std::uint32_t>(order_.size()); }
  std::uint32_t class_count() const { return static_cast<std::uint32_t>(classes_.size()); }
  clustering::ClusterView cluster(std::uint32_t index) const;
  template <class Visit>
  bool for_each_path(std::uint32_t index, Visit&& visit) const {
    const Cluster& c = clusters_[order_at(index)];
    for (std::size_t p = 0; p < classes_[c.cls].paths.size(); ++p)
      if (!visit(row_of(c, p))) return false;
    return true;
  }
  /// Returns the bytes of the clusters' full profiles, with 8 bytes per value, and of the call paths of the classes.
  std::size_t profile_bytes() const;

 private:
  struct Path {
    std::uint32_t path;
    std::uint8_t shape;
    std::size_t at;  ///< first column in a profile
  };
  struct Class {
    std::vector<Path> paths;
    std::map<std::uint64_t, std::size_t> index;  ///< into paths, by path << 8 | shape
    std::size_t width = 0;
    std::vector<std::size_t> clusters;  ///< newest first
  };
  struct Cluster {
    clustering::Label label{};
    std::size_t cls = 0;
    std::uint64_t members = 0, first = 0, last = 0;
    std::vector<std::int64_t> sum, minimum, maximum;
    std::vector<double> squares;
    std::vector<std::uint64_t> integer_mean;
    std::vector<std::int64_t> values;
  };
  struct Pair {
    bool found = false;
    std::size_t a = 0, b = 0;
    float cost = 0;
  };

  std::size_t class_of(const clustering::IterationProfile& profile);
  std::size_t start(std::uint64_t iteration, std::size_t cls, const clustering::IterationProfile& profile);
  Pair closest_pair() const;
  Pair closest_by_sweep(const std::vector<std::size_t>& clusters, const Pair& best) const;
  Pair closest_as_shipped(const std::vector<std::size_t>& clusters) const;
  Pair closest_by_ward(const std::vector<std::size_t>& clusters) const;
  std::vector<float> normalised(std::size_t cluster) const;
  void merge(std::size_t to, std::size_t from);
  std::size_t order_at(std::uint32_t index) const;
  clustering::PathRow row_of(const Cluster& c, std::size_t path) const;

  Algorithm algorithm_;
  std::uint32_t max_clusters_;
  std::size_t metrics_;
  std::vector<bool> in_distance_;
  std::vector<bool> exact_;             ///< by shape
  std::vector<std::uint32_t> columns_;  ///< by shape
  std::vector<Class> classes_;
  std::map<std::vector<std::uint64_t>, std::size_t> class_table_;  ///< by exact call paths, sorted
  std::vector<Cluster> clusters_;  ///< entries of clusters that were merged into others are reused
  std::vector<std::size_t> free_;
  std::map<std::uint32_t, std::size_t> order_;  ///< by label
  std::vector<clustering::Merge> merges_;
  std::uint32_t next_label_ = 0;
  std::uint64_t iterations_ = 0;
  std::vector<double> total_;
  std::vector<std::uint64_t> integer_total_;
  std::vector<float> inverse_mean_;
  std::vector<std::size_t> used_;  ///< compared metrics whose mean is not 0
};

}  // namespace refrain::bench
