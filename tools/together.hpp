#pragma once
/// Subcommands that the processes of a launcher's job run together.

#include <filesystem>
#include <functional>

#include "offline/export/process_group.hpp"

namespace refrain::tools {

/// Runs `work` in all processes, which meet in the directory `meeting`. The first process prints the errors of all of
/// them, each line once, and returns the worst exit code; the others print nothing and return 0, since a launcher ends
/// a job when a process fails.
int work_together(const char* command, const std::filesystem::path& meeting, exports::PlaceInJob place,
                  std::chrono::milliseconds patience, const std::function<int(exports::ProcessGroup&)>& work);

}  // namespace refrain::tools
