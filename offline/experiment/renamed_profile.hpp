#pragma once
/// Copies a profile file with other names and the same numbers.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "offline/experiment/name_places.hpp"

namespace refrain::experiment {

/// Returns the replacement of a name. Build-ids are passed and returned as bytes.
using Rename = std::function<std::string(NameKind kind, std::string_view name)>;

/// Copies `from`, profile.refrain or a part file, to `to` without the sections that this version does not know. Throws
/// ReadError, also when anything is damaged, because names in damaged data would stay; std::system_error when `to`
/// cannot be written.
void write_renamed(const std::filesystem::path& from, const Rename& rename, const std::filesystem::path& to);

}  // namespace refrain::experiment
