#pragma once
/// Common part of the subcommands about properties: specifications and databases of experiments.

#include <optional>
#include <string>
#include <vector>

#include "offline/properties/builtin.hpp"
#include "tools/command_line.hpp"

namespace refrain::tools {

/// The default of --database.
inline constexpr const char* usual_database = "refrain.sqlite";

/// Reads the specifications that come with Refrain, and `files`. On a mistake, prints it with its location and returns
/// nothing.
std::optional<properties::Program> read_specifications(const std::vector<std::string>& files);

/// Adds --database with its default.
Option add_database_option(Command command, std::string& database);

}  // namespace refrain::tools
