#pragma once
/// Reads manifest.json. Offline half.

#include "archive/input_file.hpp"
#include "archive/reader.hpp"

namespace refrain::archive {

/// Members that are missing keep their defaults; unknown ones are skipped. Throws ReadError when it is no JSON object,
/// a member has the wrong type, or a newer Refrain wrote it.
Manifest parse_manifest(const InputFile& file);

}  // namespace refrain::archive
