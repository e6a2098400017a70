#pragma once
/// A profile file with other names in it, and the same numbers.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "offline/experiment/name_places.hpp"

namespace refrain::experiment {

/// Returns the word for a name. A build-id is given and returned as bytes.
using Rename = std::function<std::string(NameKind kind, std::string_view name)>;

/// Writes `from`, profile.refrain or a part, to `to`. Sections that this version does not know are left out. Throws
/// ReadError, also when anything is damaged, since names in there would stay; std::system_error when it cannot be
/// written.
void write_renamed(const std::filesystem::path& from, const Rename& rename, const std::filesystem::path& to);

}  // namespace refrain::experiment
