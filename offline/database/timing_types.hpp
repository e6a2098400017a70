#pragma once
/// enum TimingType of the model, of MPI functions.

#include <string_view>

namespace refrain::database {

/// The name of the enumerator; nullptr: it is no function of MPI.
const char* timing_type_of(std::string_view function);

}  // namespace refrain::database
