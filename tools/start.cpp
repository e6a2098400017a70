#include "tools/start.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <unistd.h>

#include "config/function_table.hpp"
#include "config/inlined_code.hpp"
#include "config/preloading.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/run_notes.hpp"

namespace refrain::tools {

namespace {

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

/// Removes the entries for which `is_removed` holds from a list in the environment, and the variable if nothing is
/// left.
void remove_from_list(const char* variable, const std::function<bool(const std::string&)>& is_removed) {
  if (!std::getenv(variable)) return;
  std::string kept;
  const std::string all = value_of(variable);
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find_first_of(": ", at), all.size());
    const std::string word = all.substr(at, end - at);
    if (!word.empty() && !is_removed(word)) kept += (kept.empty() ? "" : ":") + word;
    at = end + 1;
  }
  if (kept.empty()) unsetenv(variable);
  else setenv(variable, kept.c_str(), 1);
}

}  // namespace

int become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  int error = errno;
  leave_note(note_said, std::strerror(error));
  say("refrain: {}: {}", command[0], std::strerror(error));
  return error == ENOENT || error == ENOTDIR ? exit_not_found : exit_not_executable;
}

void forget_preload() {
  const std::string first = value_of(config::first_variable);
  remove_from_list("LD_PRELOAD", [&](const std::string& file) {
    return file.substr(file.rfind('/') + 1).starts_with("librefrain-") ||
           (":" + first + ":").find(":" + file + ":") != std::string::npos;
  });
  if (std::getenv(config::asan_added_variable))
    remove_from_list(config::asan_variable, [](const std::string& option) { return option == config::asan_option; });
  for (const char* name :
       {config::mode_variable, config::first_variable, config::asan_added_variable, config::inlined_code_variable,
        config::function_table_variable, "REFRAIN_INTERNAL_TOOL", "REFRAIN_INTERNAL_LAUNCHERS"})
    unsetenv(name);
}

bool is_first_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "ALPS_APP_PE"})
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
  return true;
}

bool is_first_rank_of_node() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "SLURM_LOCALID"})
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
  return is_first_rank();
}

std::string quoted(const std::vector<std::string>& command) {
  constexpr const char* harmless = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  std::string line;
  for (const std::string& word : command) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(harmless) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace refrain::tools
