#pragma once
/// Profiles and traces of other tools as runs: what they lack is not known, and there are no iterations, no errors and
/// no waiting.
///
///     .cubex               of Score-P and Scalasca (cubex_file.hpp)
///     JSON of Caliper      what `cali-query --json-split` and the formatter json-split write (caliper_run.cpp)
///     profile.RANK.0.N     of TAU, a directory (tau_run.cpp)
///     OTF2 archives        of any tool: times, visits and bytes that their events add up to (archive_run.cpp)

#include <memory>
#include <string>

#include "offline/database/run_source.hpp"

namespace refrain::database {

bool is_caliper(const std::string& path);
bool is_tau(const std::string& path);
/// Any of them but an archive.
bool is_profile(const std::string& path);

/// All throw experiment::ReadError.
std::unique_ptr<RunSource> caliper_run(const std::string& path);
std::unique_ptr<RunSource> tau_run(const std::string& path);
/// `anchor`: of an archive (trace::find_otf2_anchor()).
std::unique_ptr<RunSource> archive_run(const std::string& anchor);
/// Any of them; by what is in the file, not by its name.
std::unique_ptr<RunSource> profile_run(const std::string& path);

}  // namespace refrain::database
