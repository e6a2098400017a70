#pragma once
/// The run of another tool as views of reports see it: a call tree, whose values exist as far as the tool has recorded
/// them. What it lacks is unknown, and never 0: tables have no value there, and the page names it.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/report/table.hpp"

namespace refrain::report {

struct ForeignRun {
  std::string path;                 ///< as it was named
  std::string source;               ///< "otf2", "cubex", "caliper", "tau", as in databases
  std::vector<std::int32_t> ranks;  ///< that it has, ascending
  bool is_complete = true;
  std::vector<std::string> notes;         ///< what of the file is not shown
  std::vector<format::MetricId> counted;  ///< what it has counted, of the metrics that experiments have
  analysis::CallTree tree;                ///< of the chosen locations; visits are those of functions of MPI

  bool has(format::MetricId metric) const { return std::ranges::find(counted, metric) != counted.end(); }
  /// "OTF2 archive", "profile of TAU".
  const char* kind() const;
  /// What the page begins with: "traces.otf2: OTF2 archive".
  std::string title() const;
  /// "Not known: ..."
  std::string sentence_of_unknown() const;
};

/// The table without values that the run does not have. Columns of them are left out where people read; CSV has empty
/// fields.
Table known_part(Table table, const ForeignRun& run);

/// The member `experiment` of its documents.
Table foreign_table(const ForeignRun& run);

}  // namespace refrain::report
