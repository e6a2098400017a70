#pragma once
/// Where in a launcher's command line the programs are that it will start (launchers.def).

#include <cstddef>
#include <string>
#include <vector>

namespace refrain::tools {

struct LaunchLine {
  std::string launcher;  ///< its row in the table; empty: the command is not a launcher's
  std::vector<std::size_t>
      programs;         ///< index of each program's word, ascending; without a launcher that is the first word
  std::string refusal;  ///< why it cannot be rewritten; empty: it can
};

/// Reads the file system only: to tell which launcher a name stands for, and to judge options that are in no table.
LaunchLine parse_launch_line(const std::vector<std::string>& words);

/// The words with `insertion` in front of every program.
std::vector<std::string> with_insertion(const std::vector<std::string>& words, const LaunchLine& line,
                                        const std::vector<std::string>& insertion);

/// The names by which launchers are known, separated by blanks.
std::string names_of_launchers();

/// Whether `word` names a program whose only purpose is to start another one (env, nice, numactl ...).
bool is_prefix_program(const std::string& word);

}  // namespace refrain::tools
