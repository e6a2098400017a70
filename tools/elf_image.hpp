#pragma once
/// How a file will be loaded, according to its ELF headers.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace refrain::tools {

struct ElfImage {
  bool is_64_bit = false;
  std::uint16_t machine = 0;  ///< EM_*
  bool is_dynamic = false;    ///< has a dynamic section, and an interpreter or the type of a library
  bool has_interpreter = false;
  std::string interpreter;  ///< the dynamic linker that the kernel starts; empty when there is none
  std::string soname;
  std::vector<std::string> needed;
  std::vector<std::string> needed_versions;   ///< symbol versions of the C library (libc.so.6) that it needs
  std::vector<std::string> defined_versions;  ///< symbol versions that it defines
  std::string rpath;
  std::string runpath;
  bool has_symbols = false;        ///< .symtab
  bool has_debug_info = false;     ///< .debug_info
  bool has_debug_link = false;     ///< .gnu_debuglink or a build-id: names may come from a separate file
  bool has_unwind_tables = false;  ///< .eh_frame
  bool has_search_table = false;   ///< .eh_frame_hdr, which locates the tables at run time
  bool loads_libraries = false;    ///< calls dlopen
  /// Dynamic symbols that begin like MPI functions (MPI_, PMPI_, mpi_, pmpi_) and are not data: those defined here, and
  /// the undefined ones, without weak ones.
  std::vector<std::string> defined, undefined;
  std::vector<std::string> functions_in_any_case;  ///< functions whose name begins with mpi, in lower or upper case
};

/// Nothing if the file cannot be read or is not an ELF file. Damaged headers count as absent and never crash the
/// reader.
std::optional<ElfImage> read_elf_image(const std::filesystem::path& file);

}  // namespace refrain::tools
