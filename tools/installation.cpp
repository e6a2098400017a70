#include "tools/installation.hpp"

#include <cstdlib>
#include <sstream>

namespace refrain::tools {
namespace fs = std::filesystem;
namespace {

constexpr struct {
  RuntimeLibrary library;
  const char* name;
} names[] = {
    {RuntimeLibrary::OpenMpi, "openmpi"},
    {RuntimeLibrary::Mpich, "mpich"},
    {RuntimeLibrary::Serial, "serial"},
};

}  // namespace

const char* name_of(RuntimeLibrary library) {
  for (const auto& row : names)
    if (row.library == library) return row.name;
  return "";
}

std::optional<RuntimeLibrary> runtime_library_of(const std::string& name) {
  for (const auto& row : names)
    if (name == row.name) return row.library;
  return std::nullopt;
}

fs::path own_executable(const char* argv0) {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) return self;
  std::string name = argv0;
  if (name.find('/') != std::string::npos) return fs::weakly_canonical(name, error);
  const char* path = std::getenv("PATH");
  std::istringstream directories{path ? path : ""};
  for (std::string directory; std::getline(directories, directory, ':');)
    if (fs::exists(fs::path(directory) / name, error)) return fs::weakly_canonical(fs::path(directory) / name, error);
  return name;
}

std::vector<fs::path> library_directories(const fs::path& executable) {
  fs::path prefix = executable.parent_path().parent_path();
  return {prefix / REFRAIN_LIBRARY_DIRECTORY, prefix / "lib", prefix / "lib64"};
}

namespace {

/// The file in the first library directory that has it.
std::optional<fs::path> find_file(const fs::path& executable, const std::string& name) {
  for (const fs::path& directory : library_directories(executable)) {
    fs::path file = directory / name;
    std::error_code error;
    if (fs::exists(file, error)) return file;
  }
  return std::nullopt;
}

}  // namespace

std::optional<fs::path> find_runtime_library(const fs::path& executable, RuntimeLibrary library) {
  return find_file(executable, std::string("librefrain-") + name_of(library) + ".so");
}

std::optional<fs::path> find_link_library(const fs::path& executable, RuntimeLibrary library) {
  return find_file(executable, std::string("refrain/librefrain-") + name_of(library) + "-link.so");
}

fs::path find_python_plugins(const fs::path& executable) {
  return find_file(executable, "refrain/refrain-python-plugins.so").value_or(fs::path());
}

fs::path include_directory(const fs::path& executable) { return executable.parent_path().parent_path() / "include"; }

}  // namespace refrain::tools
