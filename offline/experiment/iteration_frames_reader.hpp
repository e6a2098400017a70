#pragma once
/// Frames of iterations (docs/file-format.md). They are located and assigned to their loops when a rank is read; their
/// contents are read on request.

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "format/kept_iterations.hpp"
#include "offline/experiment/input_file.hpp"
#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

/// Adds the places of the frames in [offset, offset + size) of `file` to the rank's loops; skips frames of unknown
/// loops or kinds. Reads only the heads of the frames that it uses. After a damaged head it searches for the next frame
/// and logs the bytes in between as damage.
void find_iterations(const InputFile& file, std::uint64_t offset, std::uint64_t size, Rank& rank);

/// As find_iterations(), for the frames that the rank spilled to its own file in `directory`; they come before those of
/// the profile. Does nothing when the profile says that there is no such file. A missing or short file is damage.
void find_spilled_iterations(const std::filesystem::path& directory, Rank& rank,
                             const std::shared_ptr<DamageLog>& damage);

/// Gives the loops of threads that follow the log of the first thread. After all frames were found.
void share_first_logs(Rank& rank);

/// Contents of a frame; nothing when they are damaged, which is logged with `cost`.
std::optional<std::vector<std::byte>> read_frame(const FramePlace& place, const std::string& cost = {});
/// The first bytes of the contents, at most `size`. Does not read the rest or verify the checksum. Empty: damaged.
std::vector<std::byte> begin_of_frame(const FramePlace& place, std::size_t size);
/// Logs that the contents of a frame are not as they should be.
void note_damage(const FramePlace& place, const char* what, const std::string& cost);

/// The merges in one frame, in time order: the label of a cluster that ended, and the label that it became.
std::vector<std::pair<std::uint32_t, std::uint32_t>> read_merges(const FramePlace& place, const std::string& cost = {});

/// The samples of single iterations. Read them with offline/run/iteration_samples.hpp.
struct StoredSamples {
  format::KeptIterations kept;
  std::uint64_t count = 0;
  std::uint8_t visits = 0;               ///< number of the column that counts samples
  std::vector<std::int32_t> references;  ///< for the ids, then for each column
  std::vector<std::uint32_t> paths;      ///< paths of the profile, by id
  std::vector<std::int32_t> columns;     ///< our column for each column of the file; -1: none
  std::vector<std::byte> data;
};
/// Reads the samples of a loop; without records when none were kept or they are damaged.
StoredSamples read_samples(const Rank& rank, const Loop& loop);

}  // namespace refrain::experiment
