#pragma once
/// Modules whose frames are not shown, by the last part of their path.

#include <string_view>

namespace refrain::symbols {

/// Refrain's own libraries. A sample ends there if it hit the first or the last instructions of one of their functions.
bool is_refrain(std::string_view file);
/// Libraries whose frames say nothing about the program: Refrain's own, and the Fortran layers of the MPIs, which stand
/// between the program's call and the MPI function that is shown.
bool is_layer(std::string_view file);

}  // namespace refrain::symbols
