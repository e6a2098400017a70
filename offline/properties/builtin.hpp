#pragma once
/// The data model and the library of properties that come with Refrain.

#include <memory>
#include <vector>

#include "offline/properties/check.hpp"

namespace refrain::properties {

Source builtin_model();    ///< model.asl
Source builtin_library();  ///< library.asl

/// Compiles the model, the library and the user's sources. Throws SpecificationError.
Program compile_with_builtin(const std::vector<Source>& further);

}  // namespace refrain::properties
