#pragma once
/// Describes an errno value in a few English words. Runtime half: strerror may take locks, and may allocate for a
/// translation.

#include <string_view>

namespace refrain::record {

std::string_view error_text(int error);

}  // namespace refrain::record
