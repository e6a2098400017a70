#pragma once
/// The distance of two names, to guess which name was meant. For both halves.

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace refrain::config {

/// The number of edits (insert, delete, replace) that turn one name into the other. `row`: room for b.size() + 1
/// numbers.
inline std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t* row) {
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace refrain::config
