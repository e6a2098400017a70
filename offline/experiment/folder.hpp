#pragma once
/// The files of an experiment: in its directory, or in an archive made of it by `refrain pack` (or tar). A file of a
/// packed experiment has the name that it would have if the archive were a directory, as in
/// "exp.tar/profile.refrain"; InputFile opens such names, so readers need not tell the two apart.
///
/// Thread-safe. A packed experiment is read-only: writing below its name fails as it does below any file (ENOTDIR).

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "offline/experiment/tar_file.hpp"

namespace refrain::experiment {

/// Names of the files in a directory or a packed experiment, sorted. Returns nothing and sets `error` when it cannot be
/// read. Throws ReadError when the archive is damaged.
std::vector<std::string> files_in(const std::filesystem::path& experiment, std::error_code& error);
/// Paths of the files whose names start with `begin` and end with `end`; empty when `experiment` cannot be read.
std::vector<std::filesystem::path> files_like(const std::filesystem::path& experiment, std::string_view begin,
                                              std::string_view end);

/// Whether the file exists, in a directory or in a packed experiment.
bool has_file(const std::filesystem::path& experiment, const std::string& name);

/// Absolute, without a slash at the end.
std::string full_name(const std::filesystem::path& experiment);

/// Whether the path is a file that holds an experiment.
bool is_packed(const std::filesystem::path& path);

/// Position in its archive of a file like "exp.tar/profile.refrain"; nothing when the archive or the file is missing.
std::optional<TarMember> packed_file(const std::filesystem::path& path);

}  // namespace refrain::experiment
