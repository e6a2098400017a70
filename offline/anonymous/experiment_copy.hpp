#pragma once
/// A copy of an experiment with the same numbers, in which pseudonyms replace names.

#include <filesystem>

#include "offline/anonymous/pseudonyms.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/symbols/symbols.hpp"

namespace refrain::anonymous {

/// Writes the copy into `to`, a new directory. `symbolizer` has all names of the experiment (symbols::use_names()).
/// Analyses are not copied, because their sentences have names. Throws experiment::ReadError, also if a part of the
/// experiment is damaged, and std::system_error if the copy cannot be written.
void copy_experiment(const experiment::Experiment& experiment, symbols::Symbolizer& symbolizer,
                     const Pseudonyms& pseudonyms, const std::filesystem::path& to);

}  // namespace refrain::anonymous
