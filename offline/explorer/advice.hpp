#pragma once
/// Titles of metrics, and for patterns also descriptions and advice. The latter come from docs/patterns.md, where each
/// pattern has a row in a table, and each section says what to do.

#include <map>
#include <string>
#include <string_view>

namespace refrain::explorer {

struct Advice {
  std::string help;    ///< description of the pattern: its row in the table
  std::string advice;  ///< what to do, from its section
};

/// Advice by name of the pattern. `patterns`: text of the document.
std::map<std::string, Advice> advice_of(std::string_view patterns);

/// The title of a metric: "MPI point to point" for "mpi_point_to_point".
std::string title_of(const std::string& metric);

}  // namespace refrain::explorer
