#pragma once
/// What went wrong with a file, in a few English words. Runtime half: strerror may take locks and allocate for a
/// translation.

#include <string_view>

namespace refrain::record {

std::string_view error_text(int error);

}  // namespace refrain::record
