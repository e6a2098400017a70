#include "offline/experiment/reader.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "format/profile_file.hpp"
#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/iteration_frames_reader.hpp"
#include "offline/experiment/manifest_reader.hpp"
#include "offline/experiment/profile_merger.hpp"
#include "offline/experiment/profile_parser.hpp"

namespace refrain::experiment {

namespace {

namespace fs = std::filesystem;

/// The rank in "part-<rank>.refrain".
std::optional<std::int32_t> part_rank(std::string_view name) {
  constexpr std::string_view begin = "part-", end = ".refrain";
  if (!name.starts_with(begin) || !name.ends_with(end) || name.size() <= begin.size() + end.size()) return std::nullopt;
  name.remove_prefix(begin.size());
  name.remove_suffix(end.size());
  std::int32_t rank = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
  if (error != std::errc{} || rest != name.data() + name.size() || rank < 0) return std::nullopt;
  return rank;
}

/// The part files, ascending by rank.
std::vector<std::pair<std::int32_t, fs::path>> find_parts(const fs::path& directory) {
  std::vector<std::pair<std::int32_t, fs::path>> parts;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (const auto rank = part_rank(at->path().filename().string())) parts.emplace_back(*rank, at->path());
  if (error) throw ReadError(clean_text(directory.string()) + ": cannot be read: " + error.message());
  std::sort(parts.begin(), parts.end());
  return parts;
}

Profile read_profile(const fs::path& directory, const Manifest& manifest) {
  const fs::path common = directory / format::profile_name;
  const auto parts = find_parts(directory);
  std::error_code error;
  const bool has_common = fs::exists(common, error);
  if (!has_common && parts.empty())
    throw ReadError(clean_text(directory.string()) +
                    (manifest.state == "running"
                         ? ": holds no profile: the program still runs, or ended before it could write"
                         : ": holds no profile"));
  ProfileMerger merger;
  if (has_common) {
    Profile profile = parse_profile(InputFile(common));
    if (profile.complete || parts.empty()) return profile;
    merger.add(std::move(profile), common.string());
  }
  for (const auto& [rank, path] : parts) {
    if (merger.has_rank(rank)) continue;
    const InputFile file(path);
    Profile part = parse_profile(file);
    if (part.ranks.size() != 1 || part.ranks[0].rank != rank)
      file.fail(0, "is not the profile of the rank in its name");
    merger.add(std::move(part), file.name());
  }
  Profile profile = merger.take();
  profile.ranks_expected = std::max(profile.ranks_expected, manifest.ranks);
  return profile;
}

}  // namespace

Experiment read_experiment(const fs::path& directory) {
  const fs::path manifest = directory / format::manifest_name;
  std::error_code error;
  if (!fs::exists(directory, error)) throw ReadError(clean_text(directory.string()) + ": does not exist");
  if (!fs::is_directory(directory, error)) throw ReadError(clean_text(directory.string()) + ": is not a directory");
  if (!fs::exists(manifest, error))
    throw ReadError(clean_text(directory.string()) + ": is not an experiment directory: it has no " +
                    format::manifest_name);
  Experiment experiment;
  experiment.directory = directory;
  experiment.manifest = parse_manifest(InputFile(manifest));
  experiment.profile = read_profile(directory, experiment.manifest);
  for (Rank& rank : experiment.profile.ranks) find_spilled_iterations(directory, rank);
  return experiment;
}

}  // namespace refrain::experiment
