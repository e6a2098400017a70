#pragma once
/// Adds a run to a database of the built-in data model (properties/model.asl).

#include <functional>
#include <string>
#include <vector>

#include "offline/database/run_source.hpp"
#include "offline/database/store.hpp"

namespace refrain::database {

struct AddOptions {
  std::string program, version;  ///< override those of the experiment; empty: keep them
  std::string added;             ///< when it is added, as shown to people
  /// Called with the number of locations that are done, and of all locations.
  std::function<void(std::size_t done, std::size_t all)> progress = [](std::size_t, std::size_t) {};
};

struct Added {
  std::int64_t run = 0;
  std::vector<std::string> notes;  ///< what was left out of the database, one line each
};

/// Called within a Writing, which undoes everything when this throws.
Added add_run(Connection& connection, const properties::Model& model, RunSource& source, const AddOptions& options);

}  // namespace refrain::database
