#pragma once
/// A profile of Score-P (.cubex) as a run for a database.

#include <memory>
#include <string>

#include "offline/database/run_source.hpp"

namespace refrain::database {

/// Throws experiment::ReadError. The program is named after the file's directory, since profiles do not name the
/// executable.
std::unique_ptr<RunSource> cubex_run(const std::string& path);

}  // namespace refrain::database
