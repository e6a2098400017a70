#pragma once
/// A profile of Score-P (.cubex) as a run for a database.

#include <memory>
#include <string>

#include "offline/database/run_source.hpp"

namespace refrain::database {

/// Throws experiment::ReadError. Its program is called by the name of the file's
/// directory, as profiles do not have the executable.
std::unique_ptr<RunSource> cubex_run(const std::string& path);

}  // namespace refrain::database
