#include "tools/program.hpp"

#include <algorithm>
#include <cstdlib>
#include <elf.h>
#include <fstream>
#include <iterator>
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

/// The interpreter of a #! line, if there is one.
void read_first_line(Program& program) {
  std::ifstream stream{program.file, std::ios::binary};
  char line[256] = {};
  stream.read(line, sizeof line - 1);
  std::string text{line, static_cast<std::size_t>(stream.gcount())};
  if (!text.starts_with("#!")) return;
  std::istringstream stream_of_words{text.substr(2, text.find_first_of("\r\n") - 2)};
  std::vector<std::string> words;
  for (std::string word; stream_of_words >> word;) words.push_back(word);
  if (words.empty()) return;
  program.interpreter = words[0];
  if (program.interpreter.filename() != "env") return;
  // "#!/usr/bin/env [-S] [A=1] NAME": the name decides.
  const auto name = std::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
    return !word.starts_with('-') && word.find('=') == std::string::npos;
  });
  if (name == words.end()) return;
  program.interpreter = *name;
  program.found_by_env = words.size() == 2;
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
    read_first_line(program);
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

std::optional<RuntimeLibrary> foreign_launcher(const Program& program) {
  const auto has = [](const char* name) { return std::getenv(name) != nullptr; };
  const auto processes = [](const char* name) { return std::getenv(name) ? std::atoi(std::getenv(name)) : 0; };
  const bool by_openmpi = has("OMPI_COMM_WORLD_RANK");
  const bool by_mpich = has("PMI_RANK") || has("PMI_ID") || has("PMI_FD");
  // Either MPI may understand what these tell; and one launcher may have started the other.
  if (by_openmpi == by_mpich || has("SLURM_PROCID") || has("ALPS_APP_PE")) return std::nullopt;
  if (program.mpi == RuntimeLibrary::Mpich && by_openmpi && processes("OMPI_COMM_WORLD_SIZE") > 1) {
    const bool knows_pmix = std::ranges::any_of(
        program.libraries, [](const NeededLibrary& library) { return library.name.starts_with("libpmix.so"); });
    if (!knows_pmix) return RuntimeLibrary::OpenMpi;
  }
  if (program.mpi == RuntimeLibrary::OpenMpi && by_mpich && !has("PMIX_RANK") && processes("PMI_SIZE") > 1)
    return RuntimeLibrary::Mpich;
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

bool is_shell(const Program& program) {
  // A script without a first line is the shell's.
  const bool script = program.kind == Program::Kind::Script;
  if (script && program.interpreter.empty()) return true;
  const std::string name = (script ? program.interpreter : program.file).filename().string();
  constexpr const char* shells[] = {"sh",  "ash",   "bash", "busybox", "csh",  "dash", "fish",
                                    "ksh", "ksh93", "mksh", "rbash",   "tcsh", "yash", "zsh"};
  return std::ranges::find(shells, name) != std::end(shells);
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
