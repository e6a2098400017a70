#pragma once
/// Read access to an experiment. Opening it reads the manifest, the definitions and the rank tables. A rank is read on
/// request and freed when its last user releases it.
///
/// All members are const and may be called by several threads at a time; the objects that they return do not change.

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "offline/experiment/kept_analysis.hpp"
#include "offline/experiment/kept_pools.hpp"
#include "offline/experiment/manifest_reader.hpp"
#include "offline/experiment/profile_file.hpp"

namespace refrain::experiment {

/// A complete experiment in memory.
struct WholeExperiment {
  std::filesystem::path directory;
  Manifest manifest;
  Profile profile;
};

using RankHandle = std::shared_ptr<const Rank>;

class Experiment {
 public:
  /// Opens an experiment; merges the part files of one that did not finish. Throws ReadError when there is nothing to
  /// show; all other damage is in damage(). `strict`: any damage is an error.
  static std::shared_ptr<const Experiment> open(const std::filesystem::path& directory, bool strict = false);
  /// An experiment from a single file in memory, without a manifest. `bytes` must outlive the experiment.
  static std::shared_ptr<const Experiment> of_file(std::string name, std::span<const std::byte> bytes);
  /// An experiment from data in memory.
  static std::shared_ptr<const Experiment> of(WholeExperiment whole);

  const std::filesystem::path& directory() const { return directory_; }
  const Manifest& manifest() const { return manifest_; }
  /// Definitions of all ranks. `complete`: every rank wrote its data at the end.
  const ProfileDefinitions& definitions() const { return definitions_; }
  /// Numbers of the ranks that have data, ascending. rank() takes an index in this list.
  const std::vector<std::int32_t>& ranks() const { return ranks_; }
  /// Reads a rank; null when nothing of it can be read (see damage()). Throws ReadError when strict.
  RankHandle rank(std::size_t place, Depth depth) const;

  /// Metrics that a search found: those of have_found(), or else the kept ones, which are read; empty when there are
  /// none. Throws ReadError when strict.
  std::vector<SavedMetric> saved_metrics() const;
  /// Provides the metrics of a search that is not kept.
  void have_found(std::vector<SavedMetric> metrics) const;

  /// How the user time of single iterations is divided: as given by have_pools(), or else as kept; null when neither.
  /// Ranks read with Depth::Whole have it.
  std::shared_ptr<const KeptPools> pools() const;
  /// Provides the pools found for this experiment. Ranks that were read before do not get them.
  void have_pools(std::shared_ptr<const KeptPools> pools) const;

  /// Distinguishes experiments, even two runs of one program: kept files may have been copied from another experiment.
  std::uint64_t fingerprint() const;

  /// What could not be read so far, one line each: the first hundred of damages().
  std::vector<std::string> damage() const { return damage_->lines(); }
  std::size_t damages() const { return damage_->count(); }
  /// For readers of other files of the experiment.
  const std::shared_ptr<DamageLog>& damage_log() const { return damage_; }

  // Internal: use open(), of_file() or of().
  explicit Experiment(bool strict) : damage_(std::make_shared<DamageLog>(strict)) {}

 private:
  struct Place {
    const ProfileFile* file;
    ProfileFile::Entry entry;
    const std::vector<std::uint32_t>* paths;  ///< call path of the experiment, by call path of the file
  };
  void read_manifest();
  void find_files();
  void unite_definitions();
  RankHandle read_rank(const Place& place, Depth depth) const;

  std::filesystem::path directory_;
  Manifest manifest_;
  ProfileDefinitions definitions_;
  std::shared_ptr<DamageLog> damage_;
  std::vector<std::int32_t> ranks_;
  std::vector<std::unique_ptr<const ProfileFile>> files_;
  std::vector<std::unique_ptr<const std::vector<std::uint32_t>>> paths_;  ///< by file
  std::vector<Place> places_;                                             ///< by index in ranks_
  std::vector<RankHandle> in_memory_;
  mutable std::mutex mutex_;
  mutable std::vector<std::weak_ptr<const Rank>> read_[depths];  ///< by depth, then by index in ranks_
  mutable std::optional<std::vector<SavedMetric>> found_metrics_;
  mutable std::once_flag pools_are_read_;
  mutable std::shared_ptr<const KeptPools> pools_;
};

}  // namespace refrain::experiment
