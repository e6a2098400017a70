#include "tools/property_commands.hpp"

#include "tools/console.hpp"

namespace refrain::tools {

std::optional<properties::Program> read_specifications(const std::vector<std::string>& files) {
  try {
    std::vector<properties::Source> sources;
    for (const std::string& file : files) sources.push_back(properties::read_source(file));
    return properties::compile_with_builtin(sources);
  } catch (const std::exception& error) {
    say("{}", error.what());
    return std::nullopt;
  }
}

Option add_database_option(Command command, std::string& database) {
  return command.option("--database", database, "File of SQLite, or postgresql://...").type("DATABASE").shows_default();
}

}  // namespace refrain::tools
