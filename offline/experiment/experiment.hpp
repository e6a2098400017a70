#pragma once
/// An experiment that answers questions. To open it reads manifest, definitions and the tables of ranks; a rank is read
/// when it is asked for, and held no longer than somebody holds it.
///
/// All members are const and may be called by several threads at a time; what they hand out does not change.

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

/// Everything at once.
struct WholeExperiment {
  std::filesystem::path directory;
  Manifest manifest;
  Profile profile;
};

using RankHandle = std::shared_ptr<const Rank>;

class Experiment {
 public:
  /// The part files of an experiment that did not finish are merged. Throws ReadError when there is nothing to show;
  /// what is damaged beside that is in damage(). `strict`: any damage is an error.
  static std::shared_ptr<const Experiment> open(const std::filesystem::path& directory, bool strict = false);
  /// One file alone, without a manifest, that lies in memory and outlives the experiment.
  static std::shared_ptr<const Experiment> of_file(std::string name, std::span<const std::byte> bytes);
  /// One that lies in memory.
  static std::shared_ptr<const Experiment> of(WholeExperiment whole);

  const std::filesystem::path& directory() const { return directory_; }
  const Manifest& manifest() const { return manifest_; }
  /// Of all ranks. `complete`: each of them has written in the end.
  const ProfileDefinitions& definitions() const { return definitions_; }
  /// The numbers of the ranks that have data, ascending. They are asked for by their place in this list.
  const std::vector<std::int32_t>& ranks() const { return ranks_; }
  /// Null: nothing of the rank can be read (see damage()). Throws ReadError when strict.
  RankHandle rank(std::size_t place, Depth depth) const;

  /// What a search has found in it: of have_found(), or what is kept; nothing where there is none. Reads it. Throws
  /// ReadError when strict.
  std::vector<SavedMetric> saved_metrics() const;
  /// A search that is not kept has found this.
  void have_found(std::vector<SavedMetric> metrics) const;

  /// How the user time of single iterations is divided: of have_pools(), or as it is kept; null where it is not. Ranks
  /// that are read as a whole have it.
  std::shared_ptr<const KeptPools> pools() const;
  /// They were found, and are of this experiment. Ranks that were read before do not have them.
  void have_pools(std::shared_ptr<const KeptPools> pools) const;

  /// Tells experiments apart, also two runs of one program: what belongs to this one may have been copied from another.
  std::uint64_t fingerprint() const;

  /// What could not be read, as far as anybody has tried: a line each, the first hundred of damages().
  std::vector<std::string> damage() const { return damage_->lines(); }
  std::size_t damages() const { return damage_->count(); }
  /// For who reads other files of the experiment.
  const std::shared_ptr<DamageLog>& damage_log() const { return damage_; }

  // Not for users: see open() and of().
  explicit Experiment(bool strict) : damage_(std::make_shared<DamageLog>(strict)) {}

 private:
  struct Place {
    const ProfileFile* file;
    ProfileFile::Entry entry;
    const std::vector<std::uint32_t>* paths;  ///< of the experiment, by call path of the file
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
  std::vector<Place> places_;                                             ///< by place of the rank
  std::vector<RankHandle> in_memory_;
  mutable std::mutex mutex_;
  mutable std::vector<std::weak_ptr<const Rank>> read_[depths];  ///< by depth, by place
  mutable std::optional<std::vector<SavedMetric>> found_metrics_;
  mutable std::once_flag pools_are_read_;
  mutable std::shared_ptr<const KeptPools> pools_;
};

}  // namespace refrain::experiment
