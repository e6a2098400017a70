#pragma once
/// An experiment and its names: it gives those that it keeps, and keeps those that are found in binaries on this
/// machine.

#include <cstddef>
#include <functional>

#include "offline/experiment/experiment.hpp"
#include "offline/symbols/symbols.hpp"

namespace refrain::symbols {

struct NamingOptions {
  bool has_ended = false;  ///< the caller knows that the job has ended, also where the manifest says that it runs
  std::function<void(std::size_t done, std::size_t all)> progress = {};
};

/// Gives the symbolizer the names that the experiment keeps. If the job has ended, all addresses of its call paths that
/// have no names there are looked up at once and kept in the experiment; in memory alone, if its directory cannot be
/// written. While the job runs nothing is kept. A file of names that cannot be read is damage of the experiment; it
/// stays as it is.
void use_names(const experiment::Experiment& experiment, Symbolizer& symbolizer, const NamingOptions& options = {});

/// How many addresses of a module occur, and how many of them the experiment has names and source lines of.
struct NamesOfModule {
  std::string path, build_id;
  std::size_t addresses = 0, named = 0, with_line = 0;
  NameSource source = NameSource::None;
  std::string why;  ///< why there are no names; empty: there are, or nobody has looked
};

/// By what the experiment keeps, in the order of its modules; no binary is looked at. `has_file`: it keeps names.
std::vector<NamesOfModule> names_by_module(const experiment::Experiment& experiment, bool& has_file);

}  // namespace refrain::symbols
