#pragma once
/// Performance properties of one experiment, without a database of anybody's: it is put into one in memory.

#include <memory>
#include <vector>

#include "offline/explorer/from_experiment.hpp"

namespace refrain::tools {

/// The most severe ones first, at most `most`. Throws what reading the experiment and the database throw.
std::vector<explorer::FoundProperty> properties_of(const std::shared_ptr<const experiment::Experiment>& experiment,
                                                   const analysis::CallTree& tree,
                                                   const std::vector<report::NodeWait>& waits, std::size_t most);

}  // namespace refrain::tools
