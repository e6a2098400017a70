#pragma once
/// The names of an experiment: uses those that it keeps, and keeps those that are found in binaries on this machine.

#include <cstddef>
#include <functional>

#include "offline/experiment/experiment.hpp"
#include "offline/symbols/symbols.hpp"

namespace refrain::symbols {

struct NamingOptions {
  bool has_ended = false;  ///< the caller knows that the job has ended, even if the manifest says that it runs
  std::function<void(std::size_t done, std::size_t all)> progress = {};
};

/// Gives the symbolizer the names that the experiment keeps. If the job has ended, looks up all addresses of its call
/// paths without kept names at once, and keeps the names in the experiment, or only in memory if its directory cannot
/// be written. While the job runs, nothing is kept. A file of names that cannot be read is damage of the experiment and
/// is not replaced.
void use_names(const experiment::Experiment& experiment, Symbolizer& symbolizer, const NamingOptions& options = {});

/// How many addresses of a module occur, and for how many of them the experiment has names and source lines.
struct NamesOfModule {
  std::string path, build_id;
  std::size_t addresses = 0, named = 0, with_line = 0;
  NameSource source = NameSource::None;
  std::string why;  ///< why there are no names; empty: there are, or none were looked up
};

/// Counts what the experiment keeps, in the order of its modules, without opening binaries. Sets `has_file` to whether
/// it keeps names.
std::vector<NamesOfModule> names_by_module(const experiment::Experiment& experiment, bool& has_file);

}  // namespace refrain::symbols
