#pragma once
/// Measurements of other tools as the explorer shows them: profiles (database/profile_run.hpp), and OTF2 archives.

#include <cstddef>
#include <functional>
#include <string>

#include "offline/explorer/run.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::explorer {

/// `bytes`: maximum size of the data; threads are grouped when they do not fit. Reads the profile twice. Throws
/// experiment::ReadError.
Run run_of_profile(const std::string& path, std::size_t bytes);

/// Reads the archive twice: for the time at each call path, and to search it for patterns of waiting. `bytes` as above.
/// `progress`: gets the fraction of the second pass that is done. Throws experiment::ReadError.
Run run_of_archive(const trace::Trace& trace, std::size_t bytes, const std::function<void(double part)>& progress);

}  // namespace refrain::explorer
