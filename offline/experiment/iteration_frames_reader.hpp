#pragma once
/// Frames of iterations (docs/file-format.md): found when a rank is read, with the loops that they belong to. What is
/// in them is read when it is asked for.

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "format/kept_iterations.hpp"
#include "offline/experiment/input_file.hpp"
#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

/// Adds the places of the frames in [offset, offset + size) of `file` to the rank's loops; frames of loops or of kinds
/// that are not known are skipped. Only the heads of frames are looked at. Where one is damaged the next frame is
/// searched for, and what lies between goes to the log of damage.
void find_iterations(const InputFile& file, std::uint64_t offset, std::uint64_t size, Rank& rank);

/// The same for what the rank wrote to a file of its own in `directory`: these frames come before those of the profile.
/// Does nothing when the profile says that there is no such file. A file that is missing or short is damage.
void find_spilled_iterations(const std::filesystem::path& directory, Rank& rank,
                             const std::shared_ptr<DamageLog>& damage);

/// The contents of a piece. None: they are damaged, which goes to the log together with `cost`.
std::optional<std::vector<std::byte>> read_frame(const FramePlace& place, const std::string& cost = {});
/// The first bytes of the contents, at most `size`, without a look at the rest or at the checksum. None: damaged.
std::vector<std::byte> begin_of_frame(const FramePlace& place, std::size_t size);
/// Notes that the contents of a piece are not what they should be.
void note_damage(const FramePlace& place, const char* what, const std::string& cost);

/// Labels of clusters that ended, and what they became, in order of time; of one piece.
std::vector<std::pair<std::uint32_t, std::uint32_t>> read_merges(const FramePlace& place, const std::string& cost = {});

/// The samples of single iterations. Read them with offline/run/iteration_samples.hpp.
struct StoredSamples {
  format::KeptIterations kept;
  std::uint64_t count = 0;
  std::uint8_t visits = 0;               ///< the column that counts them
  std::vector<std::int32_t> references;  ///< for the ids, then for each column
  std::vector<std::uint32_t> paths;      ///< of the profile, by id
  std::vector<std::int32_t> columns;     ///< by column that the file has: ours; -1: none
  std::vector<std::byte> data;
};
/// Without records: none were kept, or they are damaged.
StoredSamples read_samples(const Rank& rank, const Loop& loop);

}  // namespace refrain::experiment
