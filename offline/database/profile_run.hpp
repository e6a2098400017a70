#pragma once
/// Profiles and traces of other tools as runs. What they lack is unknown; they have no iterations, errors or waiting.
///
///     .cubex               of Score-P and Scalasca (cubex_file.hpp)
///     JSON of Caliper      what `cali-query --json-split` and the formatter json-split write (caliper_run.cpp)
///     profile.RANK.0.N     of TAU, a directory (tau_run.cpp)
///     OTF2 archives        of any tool: times, visits and bytes that their events add up to (archive_run.cpp)

#include <memory>
#include <string>

#include "offline/database/run_source.hpp"

namespace refrain::database {

/// Whether the file is a JSON object with "columns" or "nodes" somewhere in it.
bool is_caliper(const std::string& path);
bool is_tau(const std::string& path);
/// The tool that a run is from, by its contents: RunFacts::source. Null when it is from none of these. Throws
/// experiment::ReadError when a directory has several archives.
const char* source_of(const std::string& path);

/// All throw experiment::ReadError.
std::unique_ptr<RunSource> caliper_run(const std::string& path);
std::unique_ptr<RunSource> tau_run(const std::string& path);
/// `anchor`: the anchor file of an archive (trace::find_otf2_anchor()).
std::unique_ptr<RunSource> archive_run(const std::string& anchor);
/// Throws experiment::ReadError: the file is no run; one sentence names all kinds of runs that could be read.
[[noreturn]] void refuse_file(const std::string& path);
/// Reads any of them; refuses any other file.
std::unique_ptr<RunSource> profile_run(const std::string& path);

}  // namespace refrain::database
