#pragma once
/// Reads the block of one rank in a profile file.

#include <span>

#include "offline/experiment/block_reader.hpp"
#include "offline/experiment/profile.hpp"
#include "offline/experiment/profile_file.hpp"

namespace refrain::experiment {

class RankReader {
 public:
  /// All arguments must outlive the reader. `paths`: call paths of the experiment (`definitions`) by those of the file.
  RankReader(const InputFile& file, const BlockReader& block, const Schema& schema,
             const ProfileDefinitions& definitions, std::span<const std::uint32_t> paths)
      : file_(file), block_(block), schema_(schema), definitions_(definitions), paths_(paths) {}

  /// Throws ReadError when nothing of the rank can be shown. Damage of one section costs what that section holds.
  Rank read(std::int32_t number, Depth depth) const;

 private:
  /// Calls `parse` with a SectionReader; it must not change the rank when it throws. False: section missing or damaged.
  template <class Parse>
  bool survives(format::Section type, const char* name, const std::string& cost, Parse&& parse) const;
  void read_mapping(Rank& rank) const;
  void read_locations(Rank& rank, Depth depth) const;
  void read_communication(Rank& rank) const;
  void read_loops_of(Rank& rank, Depth depth) const;

  const InputFile& file_;
  const BlockReader& block_;
  const Schema& schema_;
  const ProfileDefinitions& definitions_;
  std::span<const std::uint32_t> paths_;
};

}  // namespace refrain::experiment
