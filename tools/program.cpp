#include "tools/program.hpp"

#include <algorithm>
#include <cstdlib>
#include <elf.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace refrain::tools {
namespace fs = std::filesystem;
namespace {

/// Sets file and kind Missing, NotExecutable or (for now) Dynamic.
void find_file(const std::string& command, Program& program) {
  auto consider = [&](const fs::path& file) {
    struct stat status;
    if (stat(file.c_str(), &status) != 0) return false;
    bool executable = S_ISREG(status.st_mode) && access(file.c_str(), X_OK) == 0;
    if (program.kind == Program::Kind::NotExecutable && !executable) return false;
    program.file = file;
    program.kind = executable ? Program::Kind::Dynamic : Program::Kind::NotExecutable;
    return executable;
  };
  if (command.empty()) return;
  if (command.find('/') != std::string::npos) {
    consider(command);
    return;
  }
  const char* path = std::getenv("PATH");
  std::istringstream directories{path ? path : "/bin:/usr/bin"};
  for (std::string directory; std::getline(directories, directory, ':');)
    if (consider(fs::path(directory.empty() ? "." : directory) / command)) return;
}

/// The interpreter of a #! line; empty when there is none.
fs::path interpreter_of(const fs::path& file) {
  std::ifstream stream{file, std::ios::binary};
  char line[256] = {};
  stream.read(line, sizeof line - 1);
  std::string text{line, static_cast<std::size_t>(stream.gcount())};
  if (!text.starts_with("#!")) return {};
  std::size_t begin = text.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_first_of(" \t\r\n", begin) - begin);
}

bool is_privileged(const fs::path& file) {
  struct stat status;
  if (stat(file.c_str(), &status) != 0) return false;
  bool other_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != getuid();
  bool other_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != getgid();
  bool capabilities = getuid() != 0 && getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
  return other_user || other_group || capabilities;
}

}  // namespace

Program inspect_program(const std::string& command) {
  Program program;
  find_file(command, program);
  if (program.kind != Program::Kind::Dynamic) return program;
  auto image = read_elf_image(program.file);
  if (!image) {
    program.kind = Program::Kind::Script;
    program.interpreter = interpreter_of(program.file);
    return program;
  }
  program.image = std::move(*image);
  if (!program.image.is_64_bit || program.image.machine != EM_X86_64) program.kind = Program::Kind::Foreign;
  else if (!program.image.has_interpreter) program.kind = Program::Kind::Static;
  else if (is_privileged(program.file)) program.kind = Program::Kind::Privileged;
  if (program.kind != Program::Kind::Dynamic) return program;
  program.libraries = needed_libraries(program.file, program.image);
  for (const NeededLibrary& library : program.libraries)
    if (!program.mpi) program.mpi = mpi_of_library(library.name);
  return program;
}

std::optional<RuntimeLibrary> mpi_of_library(const std::string& soname) {
  constexpr int first_openmpi = 20;
  if (soname.starts_with("libmpich.so") || soname.starts_with("libmpi_cray.so") || soname.starts_with("libmpi_gnu"))
    return RuntimeLibrary::Mpich;
  if (!soname.starts_with("libmpi.so")) return std::nullopt;
  int version = std::atoi(soname.c_str() + std::min(soname.size(), std::string("libmpi.so.").size()));
  return version == 0 || version >= first_openmpi ? RuntimeLibrary::OpenMpi : RuntimeLibrary::Mpich;
}

std::optional<RuntimeLibrary> mpi_of_launcher() {
  if (std::getenv("OMPI_COMM_WORLD_RANK")) return RuntimeLibrary::OpenMpi;
  if (std::getenv("PMI_RANK") || std::getenv("PMI_ID")) return RuntimeLibrary::Mpich;
  for (const char* name : {"PMIX_RANK", "SLURM_PROCID", "ALPS_APP_PE", "JSM_NAMESPACE_RANK"})
    if (std::getenv(name)) return RuntimeLibrary::Serial;
  return std::nullopt;
}

bool may_load_mpi(const Program& program) {
  if (program.kind == Program::Kind::Script)
    return !program.interpreter.empty() && may_load_mpi(inspect_program(program.interpreter.string()));
  if (program.image.loads_libraries) return true;
  return std::ranges::any_of(program.libraries,
                             [](const NeededLibrary& library) { return library.name.starts_with("libpython"); });
}

std::optional<RuntimeLibrary> mpi_that_may_be_loaded() {
  if (!find_library("libmpi.so.40").empty()) return RuntimeLibrary::OpenMpi;
  if (!find_library("libmpich.so.12").empty() || !find_library("libmpi.so.12").empty()) return RuntimeLibrary::Mpich;
  return std::nullopt;
}

std::string why_not_measurable(const Program& program) {
  switch (program.kind) {
    case Program::Kind::Static: return "is linked statically, so nothing can be preloaded into it";
    case Program::Kind::Foreign: return "is not an x86-64 program";
    case Program::Kind::Privileged:
      return "changes its user, group or capabilities, so nothing can be preloaded into it";
    default: return {};
  }
}

}  // namespace refrain::tools
