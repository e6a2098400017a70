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
  Run,    ///< what its threads did in the run as a whole; units only where the file cannot do without them
  Loops,  ///< with the loops and their clusters, but neither what is in these nor slopes
  Whole   ///< with the units; what every single iteration has stays in the file all the same
};
inline constexpr std::size_t depths = 3;

/// Opening it reads header, definitions and rank table; ranks are read when they are asked for. Immutable, so several
/// threads may read ranks at a time.
class ProfileFile {
 public:
  struct Entry {
    std::int32_t rank;
    std::uint64_t offset, size;
  };

  /// Throws ReadError when nothing of the file can be understood without what is damaged.
  explicit ProfileFile(const InputFile& file);

  /// `complete`: every rank of the job has written to it, whether that can be read or not.
  const ProfileDefinitions& definitions() const { return definitions_; }
  /// Ranks that have written, ascending.
  const std::vector<Entry>& entries() const { return entries_; }
  const FileSource& source() const { return *source_; }

  /// `definitions`: those of the experiment, to which the file's call path i is paths[i]. Throws ReadError when nothing
  /// of the rank can be shown; other damage goes to the log.
  Rank read(const Entry& entry, Depth depth, const ProfileDefinitions& definitions,
            std::span<const std::uint32_t> paths) const;

 private:
  Rank read(const InputFile& file, const Entry& entry, Depth depth, const ProfileDefinitions& definitions,
            std::span<const std::uint32_t> paths) const;
  void read_definitions(const InputFile& file, std::uint64_t offset, std::uint64_t size);
  void read_rank_table(const InputFile& file, std::uint64_t offset, std::uint32_t entries, std::uint32_t ranks);

  std::shared_ptr<const FileSource> source_;
  std::unique_ptr<const InputFile> stays_open_;  ///< where several ranks are read from it; else null
  ProfileDefinitions definitions_;
  Schema schema_;
  std::vector<Entry> entries_;
};

}  // namespace refrain::experiment
