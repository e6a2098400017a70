#include "tools/program.hpp"

#include <algorithm>
#include <cstdlib>
#include <elf.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <sstream>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
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
  // "#!/usr/bin/env [-S] [A=1] NAME": NAME is the interpreter.
  const auto name = std::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
    return !word.starts_with('-') && word.find('=') == std::string::npos;
  });
  if (name == words.end()) return;
  program.interpreter = *name;
  program.found_by_env = words.size() == 2;
}

/// Whether the kernel will tell the dynamic linker that the program has more rights than its user (AT_SECURE).
bool is_privileged(const fs::path& file) {
  // Whatever this process executes inherits its effective user and group.
  if (geteuid() != getuid() || getegid() != getgid()) return true;
  struct stat status;
  struct statvfs system;
  if (stat(file.c_str(), &status) != 0) return false;
  // The kernel then ignores the file's set-id bits and capabilities.
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return false;
  if (statvfs(file.c_str(), &system) == 0 && (system.f_flag & ST_NOSUID) != 0) return false;
  bool other_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != getuid();
  bool other_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != getgid();
  bool capabilities = getuid() != 0 && getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
  return other_user || other_group || capabilities;
}

constexpr const char* soname_of_glibcs_loader = "ld-linux-x86-64.so.2";

bool is_glibcs_loader(const ElfImage& image) { return image.soname == soname_of_glibcs_loader; }

/// The dynamic linker that starts the program.
fs::path loader_of(const Program& program) {
  return program.loader.empty() ? fs::path(program.image.interpreter) : program.loader;
}

/// A loader has a SONAME and no interpreter; a statically linked program has no SONAME.
bool is_loader(const ElfImage& image) { return !image.has_interpreter && !image.soname.empty(); }

/// Which word of "ld.so [OPTION]... PROGRAM ..." is the program; 0: it starts none.
std::size_t program_behind_loader(const std::vector<std::string>& command) {
  constexpr std::string_view with_value[] = {"--library-path",     "--inhibit-rpath", "--audit",
                                             "--preload",          "--argv0",         "--glibc-hwcaps-prepend",
                                             "--glibc-hwcaps-mask"};
  for (std::size_t at = 1; at < command.size(); ++at) {
    if (!command[at].starts_with("--")) return at;
    if (command[at] == "--list" || command[at] == "--verify") return 0;
    if (std::ranges::find(with_value, command[at]) != std::end(with_value)) ++at;
  }
  return 0;
}

/// The C library that the program will load. A loader other than the system's searches its own directory.
fs::path libc_of(const Program& program) {
  std::error_code error;
  const fs::path loader = fs::weakly_canonical(loader_of(program), error);
  const fs::path usual = fs::weakly_canonical("/lib64/ld-linux-x86-64.so.2", error);
  if (const fs::path beside = loader.parent_path() / "libc.so.6"; loader != usual && fs::exists(beside, error))
    return beside;
  for (const NeededLibrary& library : program.libraries)
    if (library.name == "libc.so.6") return library.file;
  return {};
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
  else if (is_loader(program.image)) program.kind = Program::Kind::Loader;
  else if (!program.image.has_interpreter) program.kind = Program::Kind::Static;
  else if (is_privileged(program.file)) program.kind = Program::Kind::Privileged;
  // A loader that cannot be read is left to the kernel to report.
  if (const auto loader = program.kind == Program::Kind::Dynamic ? read_elf_image(loader_of(program)) : std::nullopt)
    if (!is_glibcs_loader(*loader)) program.kind = Program::Kind::OtherLibc;
  if (program.kind != Program::Kind::Dynamic) return program;
  program.libraries = needed_libraries(program.file, program.image);
  for (const NeededLibrary& library : program.libraries)
    if (!program.mpi) program.mpi = mpi_of_library(library.name);
  return program;
}

Program inspect_command(const std::vector<std::string>& command) {
  Program first = inspect_program(command[0]);
  if (first.kind != Program::Kind::Loader || !is_glibcs_loader(first.image)) return first;
  const std::size_t at = program_behind_loader(command);
  if (at == 0) return first;
  // PATH is not searched: the loader takes the word as a path or as a library's name.
  const std::string& word = command[at];
  Program program = inspect_program(word.find('/') == std::string::npos ? "./" + word : word);
  program.loader = first.file;
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
  // Either MPI may understand these variables, and one launcher may have started the other.
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
  // A shell runs a script that has no #! line.
  const bool script = program.kind == Program::Kind::Script;
  if (script && program.interpreter.empty()) return true;
  const std::string name = (script ? program.interpreter : program.file).filename().string();
  constexpr const char* shells[] = {"sh",  "ash",   "bash", "busybox", "csh",  "dash", "fish",
                                    "ksh", "ksh93", "mksh", "rbash",   "tcsh", "yash", "zsh"};
  return std::ranges::find(shells, name) != std::end(shells);
}

std::string why_not_measurable(const Program& program) {
  switch (program.kind) {
    case Program::Kind::Script: {
      if (program.interpreter.empty()) return {};
      const std::string why = why_not_measurable(inspect_program(program.interpreter.string()));
      return why.empty() ? why : fmt::format("is a script of {}, which {}", program.interpreter.string(), why);
    }
    case Program::Kind::Static: return "is linked statically, so nothing can be preloaded into it";
    case Program::Kind::Foreign:
      return program.image.machine == EM_386 || (program.image.machine == EM_X86_64 && !program.image.is_64_bit)
                 ? "is a 32-bit program; the runtime has 64 bits"
                 : "is not an x86-64 program";
    case Program::Kind::OtherLibc:
      return fmt::format(
          "uses another C library than glibc (its dynamic linker is {}), so the runtime cannot be "
          "preloaded into it",
          program.image.interpreter);
    case Program::Kind::Loader: return "is a dynamic linker and is given no program that could be measured";
    case Program::Kind::Privileged:
      return "changes its user, group or capabilities, so nothing can be preloaded into it";
    default: return {};
  }
}

std::string why_not_preloadable(const Program& program, const fs::path& runtime) {
  if (program.kind == Program::Kind::Script)
    return program.interpreter.empty() ? std::string()
                                       : why_not_preloadable(inspect_program(program.interpreter.string()), runtime);
  const fs::path libc = program.kind == Program::Kind::Dynamic ? libc_of(program) : fs::path();
  const auto has = libc.empty() ? std::nullopt : read_elf_image(libc);
  const auto needs = read_elf_image(runtime);
  if (!has || !needs) return {};
  for (const std::string& version : needs->needed_versions)
    if (std::ranges::find(has->defined_versions, version) == has->defined_versions.end())
      return fmt::format("uses {}, which is older than the runtime needs ({})", libc.string(), version);
  return {};
}

std::vector<fs::path> libraries_that_come_first(const Program& program) {
  constexpr const char* names[] = {"libasan.so",       "libhwasan.so",       "liblsan.so",       "libtsan.so",
                                   "libclang_rt.asan", "libclang_rt.hwasan", "libclang_rt.lsan", "libclang_rt.tsan"};
  std::vector<fs::path> first;
  for (const NeededLibrary& library : program.libraries)
    if (!library.file.empty() &&
        std::ranges::any_of(names, [&](const char* name) { return library.name.starts_with(name); }))
      first.push_back(library.file);
  return first;
}

}  // namespace refrain::tools
