/// `refrain asl`: specifications of properties.

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

#include "offline/properties/sql.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/property_commands.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace {

constexpr const char* asl_name = "asl";

struct AslRequest {
  std::vector<std::string> files;
  std::string property, dialect = properties::dialect_names[0];
};

properties::Dialect dialect_of(const AslRequest& request) {
  return request.dialect == properties::dialect_names[0] ? properties::Dialect::Sqlite
                                                         : properties::Dialect::Postgresql;
}

int check(const AslRequest& request) {
  const auto program = read_specifications(request.files);
  if (!program) return exit_usage;
  const auto own = std::ranges::count_if(program->properties, [&](const auto& property) {
    return std::ranges::find(request.files, property.source) != request.files.end();
  });
  show("{}: {} propert{}, no mistake\n", fmt::join(request.files, ", "), own, own == 1 ? "y" : "ies");
  return exit_ok;
}

int sql(const AslRequest& request) {
  const auto program = read_specifications(request.files);
  if (!program) return exit_usage;
  const properties::Property* property = program->property(request.property);
  if (property == nullptr)
    return complain(asl_name, exit_usage,
                    fmt::format("there is no property {}; there are {}", request.property,
                                fmt::join(property_names(*program), ", ")));
  properties::Contexts contexts;
  for (const auto& parameter : property->parameters)
    if (parameter.variable.name == "Basis") contexts["Basis"] = "{} = :Basis";
  show("{};\n", property_statement(*property, *program->model, dialect_of(request), contexts));
  return exit_ok;
}

int schema(const AslRequest& request) {
  const properties::Program program = properties::compile({properties::builtin_model()});
  for (const std::string& statement : table_statements(*program.model, dialect_of(request))) show("{};\n", statement);
  for (const std::string& statement : index_statements(*program.model)) show("{};\n", statement);
  return exit_ok;
}

int list(const AslRequest& request) {
  const auto program = read_specifications(request.files);
  if (!program) return exit_usage;
  std::size_t width = 0;
  for (const auto& property : program->properties) width = std::max(width, property.name.size());
  for (const auto& property : program->properties) show("{:<{}}  {}\n", property.name, width, property.help);
  return exit_ok;
}

}  // namespace

void add_asl(Command root, Invocation& invocation) {
  auto request = std::make_shared<AslRequest>();
  Command asl = root.add("asl", "Check and translate specifications of performance properties");
  asl.needs_command();
  const auto dialect = [&](Command command) {
    const std::vector<std::string> names(std::begin(properties::dialect_names), std::end(properties::dialect_names));
    command.option("--dialect", request->dialect, fmt::format("Which SQL, {}", fmt::join(names, " or ")))
        .likely_one_of(names, "NAME")
        .shows_default()
        .check([names](const std::string& word) {
          return std::ranges::find(names, word) != names.end()
                     ? std::string()
                     : fmt::format("{}: must be {}", word, fmt::join(names, " or "));
        });
  };
  const auto files = [&](Command command) {
    command.option("--properties", request->files, "Further specifications").type("FILE").repeated();
  };
  Command check_command = asl.add("check", "Say what is wrong in specifications, with the place");
  check_command.option("file", request->files, "Specifications").type("FILE").required();
  check_command.when_chosen([request, &invocation] { invocation.exit_code = check(*request); });
  Command sql_command = asl.add("sql", "Print the statement that evaluates a property in all contexts");
  sql_command.option("property", request->property, "Its name").type("PROPERTY").required();
  dialect(sql_command);
  files(sql_command);
  sql_command.when_chosen([request, &invocation] { invocation.exit_code = sql(*request); });
  Command schema_command = asl.add("schema", "Print the statements that make the tables of the data model");
  dialect(schema_command);
  schema_command.when_chosen([request, &invocation] { invocation.exit_code = schema(*request); });
  Command list_command = asl.add("list", "List the properties that there are");
  files(list_command);
  list_command.when_chosen([request, &invocation] { invocation.exit_code = list(*request); });
}

}  // namespace refrain::tools
