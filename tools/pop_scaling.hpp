#pragma once
/// Efficiencies over numbers of processes, from experiment directories or other sources: the POP table.

#include <string>
#include <vector>

#include "offline/analysis/efficiency.hpp"
#include "offline/report/table.hpp"

namespace refrain::tools {

struct PopScalingRequest {
  std::vector<std::string> runs;     ///< experiments
  std::vector<std::string> regions;  ///< marked regions or functions, in addition to the whole run
  bool is_weak = false;              ///< the problem grows with the processes
  report::Format format = report::Format::Text;
};

/// Whether `word` names an experiment, as a directory or packed. Throws experiment::ReadError if it is a damaged
/// archive.
bool is_experiment(const std::string& word);

/// Prints the table; the exit code tells whether a part of an experiment is damaged. Throws whatever reading an
/// experiment throws, and report::UsageError if runs are of different programs, have no useful time, or lack a region.
int print_pop_scaling(const char* command, const PopScalingRequest& request);

struct PopPart {
  std::string region;  ///< empty: the run
  std::vector<analysis::ScalingPoint> points;
  bool is_sampled = false;  ///< useful time comes from samples
};
struct PopTable {
  std::string program;
  bool is_weak = false;
  std::vector<PopPart> parts;  ///< each has at least one point
};
void print_pop_table(const PopTable& of, report::Format format);

}  // namespace refrain::tools
