#pragma once
/// Loads an experiment, or a profile of another tool, into a database.

#include <functional>
#include <string>

#include "offline/database/add_run.hpp"

namespace refrain::tools {

struct Loaded {
  bool is_new = false;
  std::int64_t run = 0;
  std::vector<std::string> notes;
};

/// `name`: an experiment directory, or a profile of another tool (database/profile_run.hpp). Throws whatever reading
/// the experiment or the database throws. `notify` receives lines for the user.
Loaded load_experiment(const std::string& name, database::Connection& connection, const properties::Model& model,
                       const std::string& program, const std::string& version,
                       const std::function<void(const std::string&)>& notify);

}  // namespace refrain::tools
