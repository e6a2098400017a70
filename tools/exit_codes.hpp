#pragma once
/// The exit codes of `refrain`. The exit code of a measured program is passed through.

namespace refrain::tools {

constexpr int exit_ok = 0;
constexpr int exit_usage = 1;         ///< bad command line, or `doctor` found something that prevents a measurement
constexpr int exit_unreadable = 2;    ///< an experiment that cannot be read
constexpr int exit_failed_check = 3;  ///< `check` found that a run is worse than others, or that a property holds
constexpr int exit_damaged = 4;       ///< a part of an experiment cannot be read; the rest was shown
constexpr int exit_not_executable = 126;
constexpr int exit_not_found = 127;

}  // namespace refrain::tools
