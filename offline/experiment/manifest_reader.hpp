#pragma once
/// Reads manifest.json.

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
  std::string ended;    ///< the same; empty while the state is "running"
  std::string host;
  std::string mpi_library;
  std::vector<std::pair<std::string, std::string>> configuration;  ///< REFRAIN_* in force
};

/// Members that are missing keep their defaults; unknown ones are skipped. Throws ReadError when it is no JSON object,
/// a member has the wrong type, or a newer Refrain wrote it.
Manifest parse_manifest(const InputFile& file);

}  // namespace refrain::experiment
