#include "tools/start.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/core.h>
#include <unistd.h>

#include "tools/exit_codes.hpp"
#include "tools/run_notes.hpp"

namespace refrain::tools {

int become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  int error = errno;
  leave_note(note_said, std::strerror(error));
  fmt::print(stderr, "refrain: {}: {}\n", command[0], std::strerror(error));
  return error == ENOENT || error == ENOTDIR ? exit_not_found : exit_not_executable;
}

void forget_preload() {
  for (const char* name : {"REFRAIN_INTERNAL_MODE", "REFRAIN_INTERNAL_TOOL", "REFRAIN_INTERNAL_LAUNCHERS"})
    unsetenv(name);
  const char* list = std::getenv("LD_PRELOAD");
  if (!list) return;
  std::string kept, all = list;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find_first_of(": ", at), all.size());
    const std::string file = all.substr(at, end - at);
    const std::string name = file.substr(file.rfind('/') + 1);
    if (!file.empty() && !name.starts_with("librefrain-")) kept += (kept.empty() ? "" : ":") + file;
    at = end + 1;
  }
  if (kept.empty()) unsetenv("LD_PRELOAD");
  else setenv("LD_PRELOAD", kept.c_str(), 1);
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
