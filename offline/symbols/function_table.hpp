#pragma once
/// Functions of an executable and its libraries by their symbol tables. `refrain exec` keeps them for binaries that no
/// tool may ever see, on the local disk of a node or in a container. Debug information is not read, so this takes
/// milliseconds.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "offline/experiment/input_file.hpp"
#include "offline/symbols/source_frame.hpp"

namespace refrain::symbols {

/// The functions of one module, ascending by `begin`, each address once; they may overlap in damaged files.
struct FunctionTable {
  struct Function {
    std::uint64_t begin, size;
    std::string name;  ///< as the linker knows it
  };
  std::string path, build_id;  ///< as ProfileModule has them
  std::vector<Function> functions;
};

/// The functions of a file's .symtab, or else .dynsym. No functions: the file has none, or is not an ELF file.
FunctionTable functions_of(const std::string& path);

struct FunctionTables {
  std::vector<std::byte> bytes;  ///< the contents of the file; empty: there are no functions
  std::string id;                ///< the build-id of the first module, the executable, or its substitute
};
/// The tables of `files`. Files that would take longer than `most_time`, or more bytes than `most_bytes`, are left out,
/// the last ones first.
FunctionTables function_tables_of(std::span<const std::string> files, std::chrono::milliseconds most_time,
                                  std::size_t most_bytes);

/// Throws ReadError.
std::vector<FunctionTable> parse_function_tables(const experiment::InputFile& file);

/// The frame of a place by the table, perhaps without a name.
SourceFrame frame_in(const FunctionTable& table, const Place& place);

}  // namespace refrain::symbols
