#pragma once
/// From syntax to a program: what names mean, and whether types fit.

#include <vector>

#include "offline/properties/program.hpp"
#include "offline/properties/reader.hpp"

namespace refrain::properties {

/// Of sources that belong together: one may use what another one before or behind it declares. Properties are in the
/// order of the sources. Throws SpecificationError at the first mistake.
Program compile(const std::vector<Source>& sources);

}  // namespace refrain::properties
