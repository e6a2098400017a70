#include "offline/report/terminal.hpp"

#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace refrain::report {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {  // the first that is set counts
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos || value.find("UTF8") != value.npos ||
           value.find("utf-8") != value.npos;
  }
  return false;
}

}  // namespace

Terminal detect_terminal(std::FILE* out) {
  Terminal terminal;
  const int descriptor = fileno(out);
  const bool interactive = isatty(descriptor) == 1;
  const int columns = std::atoi(std::getenv("COLUMNS") != nullptr ? std::getenv("COLUMNS") : "0");
  winsize size{};
  if (columns > 0) terminal.width = columns;
  else if (interactive && ioctl(descriptor, TIOCGWINSZ, &size) == 0) terminal.width = size.ws_col;
  terminal.is_screen = interactive;
  const bool is_file = !interactive && columns <= 0;
  terminal.utf8 = is_file || locale_is_utf8();
  terminal.colour = interactive && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  return terminal;
}

}  // namespace refrain::report
