#include "tools/start.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/core.h>
#include <unistd.h>

#include "tools/exit_codes.hpp"

namespace refrain::tools {

int become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  int error = errno;
  fmt::print(stderr, "refrain: {}: {}\n", command[0], std::strerror(error));
  return error == ENOENT || error == ENOTDIR ? exit_not_found : exit_not_executable;
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
