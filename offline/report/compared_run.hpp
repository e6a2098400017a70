#pragma once
/// A run beside others of the same program, an experiment's or that of another tool: its call tree without idle
/// helpers. What is told of several runs is told per rank.

#include <memory>
#include <string>

#include "offline/report/foreign_run.hpp"
#include "offline/report/report.hpp"

namespace refrain::report {

struct ComparedRun {
  std::string name, about;  ///< the directory or file, and the command or the kind of the file
  std::string source;       ///< "experiment", or of another tool as in ForeignRun
  std::shared_ptr<const experiment::Experiment> experiment;  ///< null: it is of another tool
  analysis::CallTree tree;
  double ranks = 1, elapsed_s = 0;  ///< elapsed: the mean over ranks
  bool has_calls = true;            ///< calls of MPI were counted
  std::string lacks;                ///< why call paths may be missing; empty: the run saw the whole
};

/// Of the ranks and threads, with the names and folds, of `request`. Throws UsageError.
ComparedRun compared_run(const std::shared_ptr<const experiment::Experiment>& experiment, const Request& request,
                         const Progress& progress, analysis::Symbolizer& symbolizer);
/// `run` was made with the ranks and threads of a request.
ComparedRun compared_run(ForeignRun run);

/// Throws UsageError for what is shown of one experiment alone. `is_difference`: of two runs, the text of which is not
/// arranged; else of more.
void check_compared_request(const Request& request, bool is_difference);

}  // namespace refrain::report
