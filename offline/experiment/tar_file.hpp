#pragma once
/// Archives of tar: POSIX.1-1988 (ustar), section 10.1.1; sizes above 8 GiB as GNU tar writes them, in base 256. Names
/// of more than 100 bytes are read as ustar, GNU tar and pax (POSIX.1-2001) write them.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "offline/experiment/input_file.hpp"

namespace refrain::experiment {

/// A file in an archive.
struct TarMember {
  std::uint64_t offset = 0, size = 0;
};

/// All files by their whole names; of several with one name the last one counts. Links are no files. Throws ReadError,
/// also when the archive was cut, or there are more than 100,000.
std::map<std::string, TarMember> tar_members(const InputFile& file);

/// Whether the file begins as an archive does. What cannot be read does not.
bool is_tar(const std::filesystem::path& path);

/// What stands before the bytes of a file, and behind them. A name of more than 100 bytes is a std::invalid_argument.
std::string tar_head(std::string_view name, std::uint64_t size);
std::string tar_padding(std::uint64_t size);
/// The end of an archive.
std::string tar_end();

}  // namespace refrain::experiment
