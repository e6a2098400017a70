#pragma once
/// Performance properties of one experiment, which is loaded into a database in memory: the user needs none.

#include <memory>
#include <vector>

#include "offline/explorer/from_experiment.hpp"

namespace refrain::tools {

/// At most `most` properties, the most severe ones first. Throws whatever reading the experiment or the database
/// throws.
std::vector<explorer::FoundProperty> properties_of(const std::shared_ptr<const experiment::Experiment>& experiment,
                                                   const analysis::CallTree& tree,
                                                   const std::vector<report::NodeWait>& waits, std::size_t most);

}  // namespace refrain::tools
