#pragma once
/// `refrain report EXPERIMENT`: the report of an experiment in the terminal, or as JSON or CSV.

#include <CLI/App.hpp>

namespace refrain::tools {

/// Adds the subcommand. When it is used, `exit_code` is set: 0 done, 1 wrong usage or the report could not be written,
/// 2 the experiment cannot be read. Errors are one line on stderr that begins with "refrain report:".
void add_report(CLI::App& app, int& exit_code);

}  // namespace refrain::tools
