#pragma once
/// Reads manifest.json.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "offline/experiment/input_file.hpp"

namespace refrain::experiment {

/// manifest.json
struct Manifest {
  std::string version;
  std::vector<std::string> command;
  std::string state;  ///< "running", "complete", "incomplete"
  int ranks = 1;
  std::string executable, working_directory;
  std::string started;  ///< ISO 8601, UTC
  std::string ended;    ///< ISO 8601, UTC; empty while the state is "running"
  std::string host;
  std::string mpi_library;
  std::vector<std::pair<std::string, std::string>> configuration;  ///< REFRAIN_* in force

  std::optional<std::int64_t> started_s() const;  ///< since 1970; nothing: `started` is not a valid time
};

/// Whether samples were taken by wall time, even while threads did not run.
inline bool is_sampled_by_wall_time(const Manifest& manifest) {
  const std::pair<std::string, std::string> setting("REFRAIN_SAMPLING_CLOCK", "wall");
  return std::ranges::find(manifest.configuration, setting) != manifest.configuration.end();
}

/// Members that are missing keep their defaults; unknown ones are skipped. Throws ReadError when the file is not a JSON
/// object, a member has the wrong type, or a newer Refrain wrote the file.
Manifest parse_manifest(const InputFile& file);

}  // namespace refrain::experiment
