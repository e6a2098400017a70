#pragma once
/// An experiment, or the profile of another tool, on its way into a database.

#include <functional>
#include <string>

#include "offline/database/add_run.hpp"

namespace refrain::tools {

struct Loaded {
  bool is_new = false;
  std::int64_t run = 0;
  std::vector<std::string> notes;
};

/// `name`: an experiment directory, or a profile of another tool (database/profile_run.hpp). Throws what reading the
/// experiment or the database throws. `notify` gets lines for people.
Loaded load_experiment(const std::string& name, database::Connection& connection, const properties::Model& model,
                       const std::string& program, const std::string& version,
                       const std::function<void(const std::string&)>& notify);

}  // namespace refrain::tools
