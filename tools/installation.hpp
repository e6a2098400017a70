#pragma once
/// Where this copy of Refrain lies: everything is found relative to the running program, so that a tree can be moved.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace refrain::tools {

/// The runtime libraries, one per MPI, and one for programs without MPI. The order is that of runtime_library_name().
enum class RuntimeLibrary { OpenMpi, Mpich, Serial };

/// The MPI's name as users write it: "openmpi", "mpich", "serial".
const char* name_of(RuntimeLibrary library);

/// The inverse of name_of(); nothing for another name.
std::optional<RuntimeLibrary> runtime_library_of(const std::string& name);

/// The running program's file. `argv0` serves where /proc is not mounted.
std::filesystem::path own_executable(const char* argv0);

/// The directories beside `bin` that may hold the libraries, most likely first.
std::vector<std::filesystem::path> library_directories(const std::filesystem::path& executable);

/// The library's file, if this copy has it.
std::optional<std::filesystem::path> find_runtime_library(const std::filesystem::path& executable,
                                                          RuntimeLibrary library);

/// The library that the linker is given in place of the runtime library (runtime/link_only.c), if this copy has it.
std::optional<std::filesystem::path> find_link_library(const std::filesystem::path& executable, RuntimeLibrary library);

/// The library that loads Python plug-ins of `refrain analyze`. It may not exist.
std::filesystem::path find_python_plugins(const std::filesystem::path& executable);

/// The directory for -I, which contains refrain/refrain.h.
std::filesystem::path include_directory(const std::filesystem::path& executable);

}  // namespace refrain::tools
