#pragma once
/// tar archives: POSIX.1-1988 (ustar), section 10.1.1; sizes above 8 GiB in base 256, as GNU tar writes them. Names of
/// more than 100 bytes are read as written by ustar, GNU tar and pax (POSIX.1-2001).

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "offline/experiment/input_file.hpp"

namespace refrain::experiment {

/// Position of a file in an archive.
struct TarMember {
  std::uint64_t offset = 0, size = 0;
};

/// All files by their full names; of several with the same name the last one counts. Links are not files. Throws
/// ReadError, also when the archive is truncated or has more than 100,000 files.
std::map<std::string, TarMember> tar_members(const InputFile& file);

/// Whether the file begins like an archive; false when it cannot be read.
bool is_tar(const std::filesystem::path& path);

/// The head before the bytes of a file, and the padding after them. Throws std::invalid_argument when the name has more
/// than 100 bytes.
std::string tar_head(std::string_view name, std::uint64_t size);
std::string tar_padding(std::uint64_t size);
/// The end of an archive.
std::string tar_end();

}  // namespace refrain::experiment
