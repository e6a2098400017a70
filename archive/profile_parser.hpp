#pragma once
/// Reads one profile file (profile.refrain or a part). Offline half.

#include "archive/input_file.hpp"
#include "archive/profile.hpp"

namespace refrain::archive {

/// Throws ReadError for anything that is not as docs/file-format.md has it.
Profile parse_profile(const InputFile& file);

}  // namespace refrain::archive
