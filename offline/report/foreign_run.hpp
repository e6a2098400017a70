#pragma once
/// A run of another tool as the views of reports see it: a call tree with the values that the tool has recorded. What
/// it lacks is unknown, never 0: tables have no value there, and the page names it.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/report/table.hpp"

namespace refrain::report {

struct ForeignRun {
  std::string path;                 ///< as the user gave it
  std::string source;               ///< "otf2", "cubex", "caliper", "tau", as in databases
  std::vector<std::int32_t> ranks;  ///< ranks that it has, ascending
  bool is_complete = true;
  std::vector<std::string> notes;         ///< what the file has but is not shown
  std::vector<format::MetricId> counted;  ///< those metrics of experiments that it has
  analysis::CallTree tree;                ///< of the chosen locations; visits are those of MPI functions

  bool has(format::MetricId metric) const { return std::ranges::find(counted, metric) != counted.end(); }
  /// "OTF2 archive", "profile of TAU".
  const char* kind() const;
  /// The title of the page: "traces.otf2: OTF2 archive".
  std::string title() const;
  /// "Not known: ..."
  std::string sentence_of_unknown() const;
};

/// Removes values that the run does not have. Formats for people lose their columns, CSV has empty fields.
Table known_part(Table table, const ForeignRun& run);

/// The member `experiment` of JSON documents of the run.
Table foreign_table(const ForeignRun& run);

}  // namespace refrain::report
