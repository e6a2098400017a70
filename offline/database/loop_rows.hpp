#pragma once
/// The marked loops of a run in a database: Loop, Step, Iteration and Cluster.

#include <functional>
#include <string>
#include <vector>

#include "offline/database/run_source.hpp"
#include "offline/database/store.hpp"

namespace refrain::database {

struct LoopsOfRun {
  std::int64_t run;                            ///< id
  const std::vector<std::int64_t>& locations;  ///< ids, by index in RunSource::locations()
  const std::function<void(std::size_t done, std::size_t all)>& progress;
};

/// Adds to `notes` what is left out of the database.
void add_loops(Connection& connection, ObjectTables& tables, RunSource& source, const LoopsOfRun& of_run,
               std::vector<std::string>& notes);

}  // namespace refrain::database
