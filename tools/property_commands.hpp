#pragma once
/// The common part of the subcommands about properties: specifications and databases of experiments.

#include <optional>
#include <string>
#include <vector>

#include "offline/properties/builtin.hpp"
#include "tools/command_line.hpp"

namespace refrain::tools {

/// The database of experiments without --database.
inline constexpr const char* usual_database = "refrain.sqlite";

/// The specifications that come with Refrain, and `files`. A mistake is printed with its place, and nothing is
/// returned.
std::optional<properties::Program> read_specifications(const std::vector<std::string>& files);

/// --database, with the usual one.
Option add_database_option(Command command, std::string& database);

}  // namespace refrain::tools
