#pragma once
/// Fields of comma-separated values (RFC 4180).

#include <string>
#include <string_view>

#include "offline/analysis/call_tree.hpp"

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

/// The names from the root to a node, with semicolons between them.
inline std::string csv_path(const analysis::CallTree& tree, std::uint32_t node) {
  std::string path;
  for (const auto& name : analysis::path_to(tree, node)) path += (path.empty() ? "" : ";") + name;
  return csv_field(path);
}

}  // namespace refrain::report
