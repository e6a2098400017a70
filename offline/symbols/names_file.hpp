#pragma once
/// The names that an experiment keeps for the addresses that occur in it, so that it no longer needs its binaries. They
/// are in the file `names.refrain`; docs/file-format.md is the specification.

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "offline/experiment/input_file.hpp"
#include "offline/symbols/source_frame.hpp"

namespace refrain::symbols {

struct ModuleNames {
  std::string path, build_id;  ///< as ProfileModule has them
  NameSource source = NameSource::None;
  std::string why;                                   ///< message why there are no names; empty: there are
  std::map<Place, std::vector<SourceFrame>> frames;  ///< innermost first, never empty; unnamed ones without a text
};

inline constexpr const char* names_file_name = "names.refrain";

/// Throws ReadError, also if a newer Refrain wrote the file: names can be looked up again without it.
std::vector<ModuleNames> parse_names(const experiment::InputFile& file);

/// The contents of the file. Equal names give equal bytes.
std::vector<std::byte> bytes_of_names(std::span<const ModuleNames> modules);

/// Replaces the file in one step. Throws std::system_error.
void write_names(const std::filesystem::path& experiment, std::span<const ModuleNames> modules);

}  // namespace refrain::symbols
