#pragma once
/// The files of an experiment: in its directory, or in one archive that `refrain pack` (or tar) has made of it. A
/// file of a packed experiment has the name that it would have if the archive were a directory, as in
/// "exp.tar/profile.refrain"; InputFile opens such names, so no reader has to know.
///
/// Thread-safe. A packed experiment is only read: to write below its name fails as below that of any file (ENOTDIR).

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "offline/experiment/tar_file.hpp"

namespace refrain::experiment {

/// The names of the files in a directory or a packed experiment, in their order. Nothing and an `error`: it cannot be
/// read. Throws ReadError when the archive is damaged.
std::vector<std::string> files_in(const std::filesystem::path& experiment, std::error_code& error);
/// Those that begin and end like this, with their directory; none when it cannot be read.
std::vector<std::filesystem::path> files_like(const std::filesystem::path& experiment, std::string_view begin,
                                              std::string_view end);

/// Whether the file is there: in a directory, or in a packed experiment.
bool has_file(const std::filesystem::path& experiment, const std::string& name);

/// Absolute, without a slash at the end.
std::string full_name(const std::filesystem::path& experiment);

/// A file that holds an experiment.
bool is_packed(const std::filesystem::path& path);

/// Of "exp.tar/profile.refrain" where it is in exp.tar. Nothing: there is no such archive, or no such file in it.
std::optional<TarMember> packed_file(const std::filesystem::path& path);

}  // namespace refrain::experiment
