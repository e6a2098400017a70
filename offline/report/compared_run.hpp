#pragma once
/// A run, of Refrain or of another tool, to be compared with other runs of the same program: its call tree without idle
/// helper threads. Values over several runs are per rank.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "offline/report/foreign_run.hpp"
#include "offline/report/report.hpp"

namespace refrain::report {

struct ComparedRun {
  std::string name, about;  ///< the directory or file, and the command or the kind of the file
  std::string source;       ///< "experiment", or ForeignRun::source
  std::shared_ptr<const experiment::Experiment> experiment;  ///< null: a run of another tool
  analysis::CallTree tree;
  double ranks = 1, elapsed_s = 0;  ///< elapsed_s: the mean over ranks
  double ranks_expected = 1;        ///< more than `ranks` if some of the requested ranks could not be read
  bool has_calls = true;            ///< MPI calls were counted
  std::string lacks;                ///< why call paths may be missing; empty: none are
};

/// Reads the ranks and threads of `request`, with its names and folds of call paths. Throws UsageError.
ComparedRun compared_run(const std::shared_ptr<const experiment::Experiment>& experiment, const Request& request,
                         const Progress& progress, analysis::Symbolizer& symbolizer);
/// `run` was read with the ranks and threads of the request.
ComparedRun compared_run(ForeignRun run);

/// "4 ranks", "3 of 4 ranks".
std::string ranks_of(const ComparedRun& run);

/// Sentences that a reader of the difference of two runs, or of the means of more, has to know.
std::vector<std::string> notes_on(std::span<const ComparedRun* const> runs);

/// Throws UsageError for an option that only a report of one experiment has. `is_difference`: of two runs, whose text
/// cannot be arranged; otherwise of more.
void check_compared_request(const Request& request, bool is_difference);

}  // namespace refrain::report
