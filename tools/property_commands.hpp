#pragma once
/// What the subcommands about properties share: specifications, databases of experiments, documents in JSON.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "offline/properties/builtin.hpp"
#include "offline/report/json_writer.hpp"
#include "tools/command_line.hpp"

namespace refrain::tools {

/// Where experiments are kept when --database does not say it.
inline constexpr const char* usual_database = "refrain.sqlite";

/// What comes with Refrain and `files`. A mistake is printed with its place, and nothing is returned.
std::optional<properties::Program> read_specifications(const std::vector<std::string>& files);

/// --database, with the usual one.
void add_database_option(Command command, std::string& database);

/// A JSON document on standard output. `members` writes what is in its object; elements down to `depth` stand on lines
/// of their own.
void print_json_object(int depth, const std::function<void(report::JsonWriter& json)>& members);

/// Names of properties, in the order of the program.
std::vector<std::string> property_names(const properties::Program& program);

}  // namespace refrain::tools
