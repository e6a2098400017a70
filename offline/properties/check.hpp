#pragma once
/// From syntax to a program: resolves names and checks types.

#include <vector>

#include "offline/properties/program.hpp"
#include "offline/properties/reader.hpp"

namespace refrain::properties {

/// Compiles sources that belong together: each may use what any other declares, in any order. Properties are in the
/// order of the sources. Throws SpecificationError at the first mistake.
Program compile(const std::vector<Source>& sources);

}  // namespace refrain::properties
