/// refrain-mpicc, refrain-mpicxx, refrain-mpifort, refrain-cc, refrain-cxx: one program that acts by the name it is
/// called by. It runs the compiler behind that name with the directory of the public header and, when linking a
/// program, with the runtime in front of the MPI library, so that the runtime's MPI functions are found first when the
/// program starts. The linker is given a library without symbols in its place (runtime/link_only.c).

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdio.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <vector>

#include "tools/console.hpp"
#include "tools/elf_image.hpp"
#include "tools/exit_codes.hpp"
#include "tools/installation.hpp"
#include "tools/program.hpp"
#include "tools/start.hpp"

namespace {

using namespace refrain::tools;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* help =
    "Usage: {0} [--refrain-OPTION...] COMPILER ARGUMENTS...\n"
    "Compiles and links like {1}, and builds the measurement in: the program measures itself.\n"
    "\n"
    "  --refrain-verbose        print the command that is executed\n"
    "  --refrain-library=NAME   openmpi, mpich or serial; else found out from the compiler\n"
    "  --refrain-version        print the version\n"
    "  --refrain-help           print this\n"
    "\n"
    "REFRAIN_WRAPPER=off        pass everything on unchanged (configure scripts, feature tests)\n"
    "{2:<26} the compiler, if not {1}\n"
    "At run time REFRAIN_ENABLE=off turns the measurement off.\n";

struct Compiler {
  std::string_view wrapper;  ///< the name after "refrain-"
  const char* variable;      ///< environment variable that names another compiler
  const char* command;
  bool is_mpi;
};
constexpr Compiler compilers[] = {
    {"mpicc", "REFRAIN_MPICC", "mpicc", true},
    {"mpicxx", "REFRAIN_MPICXX", "mpicxx", true},
    {"mpifort", "REFRAIN_MPIFORT", "mpifort", true},
    {"cc", "REFRAIN_CC", "cc", false},
    {"cxx", "REFRAIN_CXX", "c++", false},
};

/// What the arguments ask the compiler to do.
struct Request {
  bool has_input = false;
  bool stops_before_linking = false;
  bool is_static = false;
  bool is_no_program =
      false;  ///< a shared library or a relocatable object: the program that uses it carries the runtime
};

Request request_of(const Words& arguments) {
  constexpr std::string_view stops[] = {"-c", "-E", "-S", "-M", "-MM", "-fsyntax-only"};
  constexpr std::string_view takes_a_word[] = {"-o",       "-x",  "-I",  "-L",  "-D",       "-U", "-include",
                                               "-isystem", "-MF", "-MT", "-MQ", "-Xlinker", "-T", "-u"};
  Request request;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    if (std::find(std::begin(stops), std::end(stops), word) != std::end(stops)) request.stops_before_linking = true;
    else if (std::find(std::begin(takes_a_word), std::end(takes_a_word), word) != std::end(takes_a_word)) ++i;
    else if (word == "-static" || word == "-static-pie") request.is_static = true;
    else if (word == "-shared" || word == "-r") request.is_no_program = true;
    else if (word.starts_with("-show")) request.stops_before_linking = true;
    else if (!word.starts_with('-') || word == "-") request.has_input = true;
  }
  return request;
}

/// What `command` prints on standard output.
std::string output_of(const Words& command) {
  std::string output;
  FILE* pipe = popen((quoted(command) + " 2>/dev/null").c_str(), "r");
  if (!pipe) return output;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  pclose(pipe);
  return output;
}

/// Identifies the MPI by the SONAME of the library that the compiler's link line finds (-show, which all of them have).
std::optional<RuntimeLibrary> mpi_of_compiler(const std::string& compiler) {
  std::istringstream line{output_of({compiler, "-show"})};
  Words words{std::istream_iterator<std::string>(line), {}};
  Words directories;
  for (const std::string& word : words)
    if (word.starts_with("-L")) directories.push_back(word.substr(2));
  directories.insert(directories.end(), {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"});
  for (const std::string& word : words) {
    if (word != "-lmpi" && word != "-lmpich") continue;
    for (const std::string& directory : directories) {
      fs::path file = fs::path(directory) / ("lib" + word.substr(2) + ".so");
      if (auto image = read_elf_image(file))
        if (auto mpi = mpi_of_library(image->soname)) return mpi;
    }
  }
  return std::nullopt;
}

/// The linker options that put the runtime in front of everything else, whether or not the program refers to it.
Words linking(const fs::path& library, const fs::path& link_library) {
  return {"-Wl,--push-state,--no-as-needed", link_library.lexically_normal().string(), "-Wl,--pop-state",
          "-Wl,-rpath," + library.parent_path().lexically_normal().string()};
}

struct OwnOptions {
  bool verbose = false;
  bool help = false;
  bool version = false;
  std::string library;
  std::string unknown;
};

/// Takes our own options out of `arguments`.
OwnOptions take_own_options(Words& arguments) {
  OwnOptions options;
  constexpr std::string_view library = "--refrain-library=";
  std::erase_if(arguments, [&](const std::string& word) {
    if (!word.starts_with("--refrain-")) return false;
    if (word == "--refrain-verbose") options.verbose = true;
    else if (word == "--refrain-help") options.help = true;
    else if (word == "--refrain-version") options.version = true;
    else if (word.starts_with(library)) options.library = word.substr(library.size());
    else options.unknown = word;
    return true;
  });
  return options;
}

/// The arguments that Refrain adds. If it cannot, prints a line on stderr and returns none.
Words additions(const std::string& self, const std::string& command, const Compiler& compiler,
                const OwnOptions& options, const Request& request, const fs::path& executable) {
  Words added;
  fs::path include = include_directory(executable).lexically_normal();
  // An explicit -I/usr/include would break the compiler's order of system headers.
  if (include != "/usr/include") added.push_back("-I" + include.string());
  if (!request.has_input || request.stops_before_linking || request.is_no_program) return added;
  if (request.is_static) {
    say("{}: the program is linked statically: without Refrain", self);
    return added;
  }
  std::optional<RuntimeLibrary> wanted;
  if (!options.library.empty()) wanted = runtime_library_of(options.library);
  else wanted = compiler.is_mpi ? mpi_of_compiler(command) : RuntimeLibrary::Serial;
  std::optional<fs::path> library, link_library;
  if (wanted) library = find_runtime_library(executable, *wanted);
  if (wanted) link_library = find_link_library(executable, *wanted);
  if (library && link_library) std::ranges::copy(linking(*library, *link_library), std::back_inserter(added));
  else if (wanted) say("{}: no librefrain-{}.so here: linked without Refrain", self, name_of(*wanted));
  else say("{}: which MPI does {} use? --refrain-library=openmpi or mpich; linked without Refrain", self, command);
  return added;
}

int compile(int argc, char** argv) {
  std::string self = fs::path(argv[0]).filename().string();
  constexpr std::string_view prefix = "refrain-";
  std::string name = self.starts_with(prefix) ? self.substr(prefix.size()) : self;
  // refrain-mpicc.mpich stands for mpicc.mpich: that is how distributions name the compilers of several MPIs.
  std::string suffix = name.find('.') == std::string::npos ? "" : name.substr(name.find('.'));
  const auto* compiler = std::find_if(std::begin(compilers), std::end(compilers), [&](const Compiler& row) {
    return row.wrapper == std::string_view(name).substr(0, name.size() - suffix.size());
  });
  if (compiler == std::end(compilers)) {
    say("{}: called by a name that stands for no compiler", self);
    return exit_usage;
  }
  const char* chosen = std::getenv(compiler->variable);
  std::string command = chosen && *chosen ? chosen : compiler->command + suffix;
  Words arguments(argv + 1, argv + argc);
  OwnOptions options = take_own_options(arguments);
  if (options.help) {
    show(help, self, command, std::string(compiler->variable) + "=COMMAND");
    return exit_ok;
  }
  if (options.version) {
    show("{} {}\n", self, REFRAIN_VERSION);
    return exit_ok;
  }
  if (!options.unknown.empty() || (!options.library.empty() && !runtime_library_of(options.library))) {
    say("{}: {} is not known; see {} --refrain-help", self,
        options.unknown.empty() ? "--refrain-library=" + options.library : options.unknown, self);
    return exit_usage;
  }
  std::string wrapper = std::getenv("REFRAIN_WRAPPER") ? std::getenv("REFRAIN_WRAPPER") : "";
  bool transparent = wrapper == "off" || wrapper == "false" || wrapper == "no" || wrapper == "0";
  Words complete{command};
  if (!transparent)
    std::ranges::copy(additions(self, command, *compiler, options, request_of(arguments), own_executable(argv[0])),
                      std::back_inserter(complete));
  std::ranges::copy(arguments, std::back_inserter(complete));
  if (options.verbose) say("{}", quoted(complete));
  return become(complete);
}

}  // namespace

int main(int argc, char** argv) {
  return run_tool("refrain-mpicc", [&] { return compile(argc, argv); });
}
