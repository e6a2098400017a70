#pragma once
/// Subcommands that the processes of a launcher's job do together.

#include <filesystem>
#include <functional>

#include "offline/export/process_group.hpp"

namespace refrain::tools {

/// Does `work` in all processes, which meet in the directory `meeting`. The first one says what goes wrong in any of
/// them, each line once, and has the worst exit code of all; the others say nothing and return 0, since a launcher ends
/// a job when a process fails.
int work_together(const char* command, const std::filesystem::path& meeting, exports::PlaceInJob place,
                  std::chrono::milliseconds patience, const std::function<int(exports::ProcessGroup&)>& work);

}  // namespace refrain::tools
