#pragma once
/// Experiments that are in memory as a whole, while tools read one rank at a time.

#include <numeric>

#include "offline/experiment/experiment.hpp"

namespace refrain::experiment {

/// Reads all of it, which must not be damaged. Throws ReadError.
inline WholeExperiment read_experiment(const std::filesystem::path& directory) {
  const auto experiment = Experiment::open(directory, true);
  WholeExperiment whole{directory, experiment->manifest(), {}};
  static_cast<ProfileDefinitions&>(whole.profile) = experiment->definitions();
  for (std::size_t i = 0; i < experiment->ranks().size(); ++i)
    whole.profile.ranks.push_back(*experiment->rank(i, Depth::Whole));
  return whole;
}

/// The same for one file.
inline Profile parse_profile(const InputFile& file) {
  const ProfileFile opened(file);
  Profile profile;
  static_cast<ProfileDefinitions&>(profile) = opened.definitions();
  std::vector<std::uint32_t> paths(profile.paths.size());
  std::iota(paths.begin(), paths.end(), 0U);
  for (const auto& entry : opened.entries())
    profile.ranks.push_back(opened.read(entry, Depth::Whole, opened.definitions(), paths));
  return profile;
}

}  // namespace refrain::experiment
