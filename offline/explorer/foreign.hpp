#pragma once
/// Measurements of other tools as the explorer shows them: profiles (database/profile_run.hpp), and OTF2 archives.

#include <functional>
#include <string>

#include "offline/explorer/run.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::explorer {

/// Throws experiment::ReadError.
Run run_of_profile(const std::string& path);

/// Reads the archive twice: for the time at each call path, and to search it for patterns of waiting. `progress`: part
/// of the second pass. Throws experiment::ReadError.
Run run_of_archive(const trace::Trace& trace, const std::function<void(double part)>& progress);

}  // namespace refrain::explorer
