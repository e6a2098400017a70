#pragma once
/// The names of an experiment, kept when its job has ended: on the machine that has the binaries.

#include <chrono>
#include <string>

namespace refrain::tools {

enum class NamesEnd {
  Known,       ///< a reader has them at once, or finds them without harm where nothing can be kept
  Unknown,     ///< it has taken too long, or has failed
  Interrupted  ///< a signal that asks to end has come
};

/// Looks up the names of an experiment and keeps them in it (offline/symbols/experiment_names.hpp), at most for so long
/// and in a process of its own: whatever goes wrong there, readers look the names up later. A signal that asks to end
/// ends the search.
NamesEnd keep_names(const std::string& experiment, std::chrono::milliseconds most);

}  // namespace refrain::tools
