#pragma once
/// Where the experiment of this job is. Written by experiment.cpp alone.

#include "archive/experiment_directory.hpp"

namespace refrain::record {

extern archive::ExperimentDirectory directory;

/// An absolute path; empty as long as there is none.
inline const char* experiment_directory() { return directory.path; }

}  // namespace refrain::record
