#pragma once
/// One file of an experiment: profile.refrain, or the part of one rank (docs/file-format.md).

#include <memory>
#include <span>
#include <vector>

#include "offline/experiment/input_file.hpp"
#include "offline/experiment/profile.hpp"
#include "offline/experiment/schema.hpp"

namespace refrain::experiment {

/// How much of a rank is read.
enum class Depth : std::uint8_t {
  Run,    ///< totals of its threads over the run; units only where the file has no usable totals
  Loops,  ///< also loops and their clusters, without the clusters' values and without slopes
  Whole   ///< also units; the data of single iterations still stay in the file
};
inline constexpr std::size_t depths = 3;

/// The constructor reads header, definitions and rank table; ranks are read on request. Immutable, so several threads
/// may read ranks at a time.
class ProfileFile {
 public:
  struct Entry {
    std::int32_t rank;
    std::uint64_t offset, size;
  };

  /// Throws ReadError when nothing of the file can be understood because of the damage.
  explicit ProfileFile(const InputFile& file);

  /// `complete`: every rank of the job has written to the file, whether its data can be read or not.
  const ProfileDefinitions& definitions() const { return definitions_; }
  /// Entries of the ranks that have written, ascending by rank.
  const std::vector<Entry>& entries() const { return entries_; }
  const FileSource& source() const { return *source_; }

  /// Reads a rank. `definitions`: those of the experiment, where call path i of the file is paths[i]. Throws ReadError
  /// when nothing of the rank can be shown; other damage goes to the log.
  Rank read(const Entry& entry, Depth depth, const ProfileDefinitions& definitions,
            std::span<const std::uint32_t> paths) const;

 private:
  Rank read(const InputFile& file, const Entry& entry, Depth depth, const ProfileDefinitions& definitions,
            std::span<const std::uint32_t> paths) const;
  void read_definitions(const InputFile& file, std::uint64_t offset, std::uint64_t size);
  void read_rank_table(const InputFile& file, std::uint64_t offset, std::uint32_t entries, std::uint32_t ranks);

  std::shared_ptr<const FileSource> source_;
  std::unique_ptr<const InputFile> stays_open_;  ///< the open file, if it has several ranks; else null
  ProfileDefinitions definitions_;
  Schema schema_;
  std::vector<Entry> entries_;
};

}  // namespace refrain::experiment
