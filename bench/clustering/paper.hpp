#pragma once
/// The methods that clustering/clusterer.hpp is compared with, behind the same interface: the paper's (Szebenyi, Wolf,
/// Wylie, "Performance Analysis of Long-running Applications", section IV) and the same as Score-P ships it, with its
/// wrapping subtraction and integer means. Every iteration is a cluster; when there are too many, the two of one class
/// become one that are nearest by the Manhattan distance of their mean totals. With Ward's cost of the same means in
/// its place it is the plainest choice, which the present one has to be better than: neither sketches of call paths nor
/// slopes.
///
/// Plain: ordinary containers, everything anew at every iteration. Rows are stored as full profiles of 8 bytes a value.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "clustering/clusterer.hpp"

namespace refrain::bench {

/// By what two clusters are near.
enum class Nearness : std::uint8_t { Paper, ScoreP, Ward };

class TotalsClusterer {
 public:
  explicit TotalsClusterer(Nearness by = Nearness::Paper) : by_(by) {}

  [[nodiscard]] bool create(const clustering::Settings& settings);
  clustering::Added add(std::uint64_t iteration, const clustering::IterationProfile& profile);
  std::span<const clustering::Merge> merges() const { return merges_; }
  void drained() { merges_.clear(); }
  std::uint32_t cluster_count() const { return static_cast<std::uint32_t>(clusters_.size()); }
  clustering::ClusterView cluster(std::uint32_t index) const;
  std::uint32_t path_count(std::uint32_t index) const {
    return static_cast<std::uint32_t>(clusters_[index].rows.size());
  }
  clustering::PathRow path(std::uint32_t index, std::uint32_t row) const { return clusters_[index].rows[row]; }
  std::uint32_t class_count() const { return static_cast<std::uint32_t>(classes_.size()); }
  std::size_t profile_bytes() const;
  std::size_t search_bytes() const { return 0; }

 private:
  /// By shape and call path: what makes the class; with equivalence MpiVisits the number of visits, too.
  using Key = std::map<std::pair<std::uint8_t, std::uint32_t>, std::int64_t>;
  struct Cluster {
    clustering::Label label{};
    std::uint32_t cls = 0;
    std::uint64_t members = 0, first = 0, last = 0;
    std::vector<std::int64_t> sum, minimum, maximum;
    std::vector<double> squares;
    std::vector<std::uint64_t> integer_means;  ///< as shipped
    std::vector<float> means;
    std::vector<clustering::PathRow> rows;
    std::map<std::pair<std::uint8_t, std::uint32_t>, std::size_t> row_of;
  };

  Key key_of(const clustering::IterationProfile& profile) const;
  float distance(const Cluster& a, const Cluster& b) const;
  std::size_t widest_entry() const;
  bool merge_nearest();
  void join(Cluster& to, const Cluster& from) const;

  Nearness by_;
  clustering::Equivalence equivalence_{};
  std::uint32_t max_clusters_ = 0;
  std::vector<bool> in_distance_;
  struct ShapeOf {
    bool exact;
    std::uint8_t visits, columns;
  };
  std::vector<ShapeOf> shapes_;
  std::map<Key, std::uint32_t> classes_;
  std::vector<Cluster> clusters_;  ///< by label
  std::vector<clustering::Merge> merges_;
  std::uint32_t next_label_ = 0;
  std::uint64_t iterations_ = 0;
  std::vector<double> total_;
  std::vector<float> inverse_mean_;
  std::vector<std::uint64_t> integer_total_;
};

}  // namespace refrain::bench
