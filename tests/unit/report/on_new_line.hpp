#pragma once

#include <string>

namespace refrain::report::test {

/// As a raw string below the line that begins it.
inline std::string on_new_line(std::string text) {
  text.insert(text.begin(), '\n');
  return text;
}

}  // namespace refrain::report::test
