#pragma once
/// Names and makes the experiment directory. Runtime half; rank 0, ordinary context.

#include <climits>
#include <cstdint>

namespace refrain::record {

struct ExperimentDirectory {
  char path[PATH_MAX];  ///< absolute: the program may change its working directory
  /// A line without newline for stderr. When the directory was made: empty, or that another name was taken. When not:
  /// why.
  char line[1024];
};

/// Makes the directory, and its missing parents, and claims it with a first manifest (state "running"), so that of two
/// jobs that choose the same name only one gets it.
/// `configured`: the path asked for; empty: refrain-<executable>-<ranks>-<YYYYMMDD-HHMMSS>-<random> in the current
/// directory (UTC). A configured path that exists and is not an empty directory is left alone: <path>.1, <path>.2, ...
/// is taken. `executable`: path or name of the program. `first`: with a configured path, <path>.<first> is the first
/// that is tried, 0: <path> itself. False: `out.line` says why, nothing may be written.
[[nodiscard]] bool make_experiment_directory(const char* configured, const char* executable, int ranks,
                                             std::int64_t now_epoch_ns, ExperimentDirectory& out, int first = 0);

/// Removes a directory that was made so, with its manifest, unless there is something else in it.
void remove_experiment_directory(const char* path);

}  // namespace refrain::record
