#include "offline/experiment/newest.hpp"

#include <string>
#include <tuple>

#include "format/profile_file.hpp"
#include "offline/experiment/manifest_reader.hpp"

namespace refrain::experiment {
namespace fs = std::filesystem;
namespace {

/// Start time of the program; empty: not known.
std::string start_of(const fs::path& experiment) {
  try {
    return parse_manifest(InputFile(experiment / format::manifest_name)).started;
  } catch (const ReadError&) {
    return {};
  }
}

}  // namespace

bool is_experiment(const fs::path& directory) {
  std::error_code error;
  return fs::exists(directory / format::manifest_name, error) || fs::exists(directory / format::profile_name, error);
}

std::optional<fs::path> newest_experiment(const fs::path& directory) {
  if (is_experiment(directory)) return directory;
  std::optional<fs::path> newest;
  // Experiments started in the same second are ordered by the last change of their directories.
  std::tuple<std::string, fs::file_time_type, std::string> latest;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code of_entry;
    if (!at->is_directory(of_entry) || !is_experiment(at->path())) continue;
    auto of = std::tuple(start_of(at->path()), fs::last_write_time(at->path(), of_entry), at->path().string());
    if (newest && of < latest) continue;
    newest = at->path();
    latest = std::move(of);
  }
  return newest;
}

}  // namespace refrain::experiment
