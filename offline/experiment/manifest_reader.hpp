#pragma once
/// Reads manifest.json.

#include "offline/experiment/input_file.hpp"
#include "offline/experiment/reader.hpp"

namespace refrain::experiment {

/// Members that are missing keep their defaults; unknown ones are skipped. Throws ReadError when it is no JSON object,
/// a member has the wrong type, or a newer Refrain wrote it.
Manifest parse_manifest(const InputFile& file);

}  // namespace refrain::experiment
