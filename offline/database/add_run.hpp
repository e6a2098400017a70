#pragma once
/// Puts a run into a database of the built-in data model (properties/model.asl).

#include <functional>
#include <string>
#include <vector>

#include "offline/database/run_source.hpp"
#include "offline/database/store.hpp"

namespace refrain::database {

struct AddOptions {
  std::string program, version;  ///< instead of what the experiment has; empty: as it has it
  std::string added;             ///< when, as it is shown
  /// Of how many locations the work is done, of those that there are.
  std::function<void(std::size_t done, std::size_t all)> progress = [](std::size_t, std::size_t) {};
};

struct Added {
  std::int64_t run = 0;
  std::vector<std::string> notes;  ///< what is not in the database, in a line each
};

/// Within a Writing, and nothing of it when it throws.
Added add_run(Connection& connection, const properties::Model& model, RunSource& source, const AddOptions& options);

}  // namespace refrain::database
