#pragma once
/// Keeps the function names of an experiment after its job has ended, on the machine that has the binaries.

#include <chrono>
#include <string>

namespace refrain::tools {

enum class NamesEnd {
  Known,       ///< readers have the names at once, or can safely look them up if none can be kept
  Unknown,     ///< the lookup took too long or failed
  Interrupted  ///< a signal asked this process to end
};

/// Looks up the names of an experiment and keeps them in it (offline/symbols/experiment_names.hpp). Takes at most
/// `most` and runs in a process of its own: whatever goes wrong there, readers look the names up later. A signal that
/// asks this process to end ends the lookup.
NamesEnd keep_names(const std::string& experiment, std::chrono::milliseconds most);

}  // namespace refrain::tools
