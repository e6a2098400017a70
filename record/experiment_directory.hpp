#pragma once
/// Names and makes the experiment directory. Runtime half; rank 0, ordinary context.

#include <climits>
#include <cstdint>

namespace refrain::record {

struct ExperimentDirectory {
  char path[PATH_MAX];  ///< absolute: the program may change its working directory
  /// A line for stderr, without newline. If the directory was made: empty, or that another name was taken. Otherwise:
  /// the reason.
  char line[1024];
};

/// Makes the directory and its missing parents, and claims it with a first manifest (state "running"), so that only one
/// of two jobs that choose the same name gets it. `configured` is the path asked for; empty:
/// refrain-<executable>-<ranks>-<YYYYMMDD-HHMMSS>-<random> in the current directory (UTC). A configured path that
/// exists and is not an empty directory is left alone, and <path>.1, <path>.2, ... is taken. `executable` is the path
/// or name of the program. With a configured path, `first` is the first suffix that is tried; 0: <path> itself. False:
/// `out.line` says why, and nothing may be written.
[[nodiscard]] bool make_experiment_directory(const char* configured, const char* executable, int ranks,
                                             std::int64_t now_epoch_ns, ExperimentDirectory& out, int first = 0);

/// Removes a directory that make_experiment_directory() made, with its manifest, unless it contains something else.
void remove_experiment_directory(const char* path);

}  // namespace refrain::record
