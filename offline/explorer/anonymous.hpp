#pragma once
/// Removes from runs what identifies their owner: names of functions, marks, machines and files become words, the same
/// word for the same name in all runs of a file; facts keep only numbers. MPI functions, metrics and pseudo paths stay.

#include <span>

#include "offline/explorer/run.hpp"

namespace refrain::explorer {

void make_anonymous(std::span<Run> runs);

}  // namespace refrain::explorer
