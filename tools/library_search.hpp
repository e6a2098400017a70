#pragma once
/// Finds the shared libraries that ld.so will load when a program starts. Only reads files.

#include <filesystem>
#include <string>
#include <vector>

#include "tools/elf_image.hpp"

namespace refrain::tools {

struct NeededLibrary {
  std::string name;            ///< as the DT_NEEDED entry writes it
  std::filesystem::path file;  ///< empty: not found
};

/// All libraries that `image` needs, transitively, nearest first, each once. `file` is the path of the image (for
/// $ORIGIN). The search follows ld.so(8): RPATH, LD_LIBRARY_PATH, RUNPATH, the cache, the standard directories.
std::vector<NeededLibrary> needed_libraries(const std::filesystem::path& file, const ElfImage& image);

/// The file that ld.so would find for a library given by name alone. Empty: none.
std::filesystem::path find_library(const std::string& name);

}  // namespace refrain::tools
