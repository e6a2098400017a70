#pragma once
/// A run without what tells whose it is: names of functions, marks, machines and files become words that are the same
/// for the same name, in all runs of a file; the facts keep numbers alone. MPI functions, metrics and pseudo paths
/// stay.

#include <span>

#include "offline/explorer/run.hpp"

namespace refrain::explorer {

void make_anonymous(std::span<Run> runs);

}  // namespace refrain::explorer
