#pragma once
/// Fields of comma-separated values (RFC 4180).

#include <string>
#include <string_view>

namespace refrain::report {

inline std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

}  // namespace refrain::report
