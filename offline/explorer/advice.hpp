#pragma once
/// What is said of a metric beside its description: that of patterns comes from docs/patterns.md, where each has a row
/// in a table, and each section says what to do.

#include <map>
#include <string>
#include <string_view>

namespace refrain::explorer {

struct Advice {
  std::string help;    ///< what the pattern is: its row in the table
  std::string advice;  ///< what to do: of its section
};

/// By name of the pattern. `patterns`: the document.
std::map<std::string, Advice> advice_of(std::string_view patterns);

/// "mpi_point_to_point": "MPI point to point".
std::string title_of(const std::string& metric);

}  // namespace refrain::explorer
