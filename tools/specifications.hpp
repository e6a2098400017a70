#pragma once
/// Specifications of properties for the subcommands that take them.

#include <optional>
#include <string>
#include <vector>

#include "offline/properties/builtin.hpp"

namespace refrain::tools {

/// Where experiments are kept when --database does not say it.
inline constexpr const char* usual_database = "refrain.sqlite";

/// What comes with Refrain and `files`. A mistake is printed with its place, and nothing is returned.
std::optional<properties::Program> read_specifications(const std::vector<std::string>& files);

/// Names of properties, in the order of the program.
std::vector<std::string> property_names(const properties::Program& program);

}  // namespace refrain::tools
