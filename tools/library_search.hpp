#pragma once
/// Which shared libraries a program will be linked with at its start: what ld.so does, by reading files only.

#include <filesystem>
#include <string>
#include <vector>

#include "tools/elf_image.hpp"

namespace refrain::tools {

struct NeededLibrary {
  std::string name;            ///< as the DT_NEEDED entry writes it
  std::filesystem::path file;  ///< empty: not found
};

/// All libraries needed by `image`, transitively, nearest first, each once. `file` is where the image lies (for
/// $ORIGIN). The search is that of ld.so(8): RPATH, LD_LIBRARY_PATH, RUNPATH, the cache, the standard directories.
std::vector<NeededLibrary> needed_libraries(const std::filesystem::path& file, const ElfImage& image);

/// Where a library would be found that is loaded by its name alone. Empty: nowhere.
std::filesystem::path find_library(const std::string& name);

}  // namespace refrain::tools
