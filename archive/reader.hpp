#pragma once
/// Opens experiment directories. Offline half: exceptions are the error path here.

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "archive/profile.hpp"

namespace refrain::archive {

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

}  // namespace refrain::archive
