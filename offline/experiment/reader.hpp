#pragma once
/// Opens experiment directories. Offline half: exceptions are the error path here.

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "format/kept_iterations.hpp"
#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

/// What is wrong with which file and where in it: "FILE: at byte N: WHAT". Never anything but this is thrown for bad
/// input.
class ReadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// manifest.json
struct Manifest {
  std::string version;
  std::vector<std::string> command;
  std::string state;  ///< "running", "complete", "incomplete"
  int ranks = 1;
  std::string executable, working_directory;
  std::string started;  ///< ISO 8601, UTC
  std::string ended;    ///< the same; empty while the state is "running"
  std::string host;
  std::string mpi_library;
  std::vector<std::pair<std::string, std::string>> configuration;  ///< REFRAIN_* in force
};

struct Experiment {
  std::filesystem::path directory;
  Manifest manifest;
  Profile profile;
};

/// Reads manifest and profile; merges the per-rank part files of an experiment that did not finish. Throws ReadError.
Experiment read_experiment(const std::filesystem::path& directory);

// What every iteration has stays in the file until it is asked for. All of these throw ReadError.

/// The contents of a piece.
std::vector<std::byte> read_frame(const FramePlace& place);
/// The first bytes of the contents, at most `size`, without a look at the rest or at the checksum.
std::vector<std::byte> begin_of_frame(const FramePlace& place, std::size_t size);

/// Labels of clusters that ended, and what they became, in order of time; of one piece.
std::vector<std::pair<std::uint32_t, std::uint32_t>> read_merges(const FramePlace& place);

/// The samples of single iterations. Read them with offline/analysis/iteration_samples.hpp.
struct StoredSamples {
  format::KeptIterations kept;
  std::uint64_t count = 0;
  std::uint8_t visits = 0;               ///< the column that counts them
  std::vector<std::int32_t> references;  ///< for the ids, then for each column
  std::vector<std::uint32_t> paths;      ///< of the profile, by id
  std::vector<std::int32_t> columns;     ///< by column that the file has: ours; -1: none
  std::vector<std::byte> data;
};
/// Without records: none were kept.
StoredSamples read_samples(const Rank& rank, const Loop& loop);

}  // namespace refrain::experiment
