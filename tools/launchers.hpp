#pragma once
/// Finds the programs in a launcher's command line (launchers.def).

#include <cstddef>
#include <string>
#include <vector>

namespace refrain::tools {

struct LaunchLine {
  std::string launcher;  ///< row of the table; empty: the command is not a launcher
  std::vector<std::size_t>
      programs;         ///< index of each program's word, ascending; without a launcher that is the first word
  std::string refusal;  ///< why the command line cannot be rewritten; empty: it can
};

/// Only reads the file system: to tell which launcher a name stands for, and to judge options that are in no table.
LaunchLine parse_launch_line(const std::vector<std::string>& words);

/// The words with `insertion` in front of every program.
std::vector<std::string> with_insertion(const std::vector<std::string>& words, const LaunchLine& line,
                                        const std::vector<std::string>& insertion);

/// The names of all known launchers, separated by blanks.
std::string names_of_launchers();

/// Whether `word` names a program whose only purpose is to start another one (env, nice, numactl ...).
bool is_prefix_program(const std::string& word);

}  // namespace refrain::tools
