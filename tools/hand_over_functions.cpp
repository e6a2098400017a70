#include "tools/hand_over_functions.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "config/function_table.hpp"
#include "offline/experiment/whole_file.hpp"
#include "offline/symbols/function_table.hpp"
#include "tools/run_notes.hpp"
#include "tools/start.hpp"

namespace refrain::tools {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds most_time(300);

/// Jobs copy programs to such directories and clean up before they end.
bool is_below_temporary_files(const fs::path& file) {
  const std::string name = file.string();
  const char* const chosen = std::getenv("TMPDIR");
  return std::ranges::any_of(std::vector<fs::path>{"/tmp", "/var/tmp", "/dev/shm", chosen ? chosen : ""},
                             [&](const fs::path& place) {
                               return !place.empty() && name.starts_with((place / "").lexically_normal().string());
                             });
}

/// A sealed file in memory with these bytes, which the program inherits. -1: failed, see `errno`.
int sealed_file(std::span<const std::byte> bytes) {
  constexpr int beyond_those_of_shells = 64;
  constexpr unsigned never_executed = 8;  // MFD_NOEXEC_SEAL, which headers and kernels before 6.3 do not have
  constexpr const char* name = "refrain-functions";
  int made = memfd_create(name, MFD_ALLOW_SEALING | never_executed);
  if (made < 0) made = memfd_create(name, MFD_ALLOW_SEALING);
  if (made < 0) return -1;
  const int file = fcntl(made, F_DUPFD, beyond_those_of_shells);
  close(made);
  if (file < 0) return -1;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (experiment::write_all(file, text) && fcntl(file, F_ADD_SEALS, config::function_table_seals) == 0) return file;
  const int error = errno;
  close(file);
  errno = error;
  return -1;
}

}  // namespace

std::string hand_over_functions(const Program& program) {
  std::error_code error;
  const fs::path file = fs::absolute(program.file, error);
  if (error || !is_first_rank_of_node() || (run_sees_our_files() && !is_below_temporary_files(file))) return {};
  std::vector<std::string> files{file.string()};
  for (const NeededLibrary& library : program.libraries)
    if (!library.file.empty()) files.push_back(library.file.string());
  const symbols::FunctionTables tables = symbols::function_tables_of(files, most_time, config::largest_function_table);
  if (tables.bytes.empty()) return {};  // a program without a symbol table has no names
  if (tables.id.empty() || tables.id.size() > config::longest_executable_id)
    return fmt::format("{} cannot be told from other builds of it", file.string());
  const int handed_over = sealed_file(tables.bytes);
  if (handed_over < 0) return std::strerror(errno);
  setenv(config::function_table_variable, fmt::format("{}:{}", handed_over, tables.id).c_str(), 1);
  return {};
}

}  // namespace refrain::tools
