#pragma once
/// What a clusterer needs its memory for, to tests and benchmarks.

#include <cstddef>

#include "clustering/clusterer.hpp"

namespace refrain::clustering {

struct ClustererMemory {
  const Clusterer& of;

  /// Bytes of mapped pages.
  std::size_t mapped() const {
    const auto pages = [](const auto& array) {
      return (array.size() * sizeof(*array.data()) + 4095) & ~std::size_t{4095};
    };
    return of.blocks_ + pages(of.classes_) + of.class_table_.bytes() + pages(of.paths_) + of.path_index_.bytes() +
           pages(of.clusters_) + pages(of.free_slots_) + pages(of.statistics_) + pages(of.means_) +
           pages(of.sketches_) + pages(of.slot_class_) + pages(of.members_) + pages(of.nearest_costs_) +
           pages(of.wards_) + pages(of.merges_) + pages(of.order_) + pages(of.key_values_) + pages(of.others_) +
           pages(of.other_at_) + pages(of.signs_);
  }
  /// What the profiles alone need: rows, sums of overall metrics, path lists of the classes; without statistics and
  /// search structures.
  std::size_t profiles() const {
    std::size_t bytes = of.paths_.size() * sizeof(Clusterer::ClassPath) + of.path_index_.bytes();
    for (const Clusterer::IterationClass& cls : of.classes_)
      bytes += (cls.key_width + std::size_t{cls.clusters} * cls.stride) * sizeof(std::int64_t);
    return bytes + of.cluster_count_ * of.metrics_ * sizeof(std::int64_t);
  }
  /// What is needed beside the profiles to choose and to reconstruct: sketches, slopes.
  std::size_t search() const {
    std::size_t bytes =
        of.cluster_count_ * (of.sketch_dims_ * sizeof(float) + 3 * sizeof(std::uint32_t) + 3 * sizeof(float));
    for (const Clusterer::IterationClass& cls : of.classes_)
      bytes += of.head_bytes(cls.key_width) - cls.key_width * sizeof(std::int64_t);
    return bytes;
  }
};

}  // namespace refrain::clustering
