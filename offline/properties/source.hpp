#pragma once
/// The text of a specification, places in it, and mistakes that are shown with their place.

#include <stdexcept>
#include <string>
#include <string_view>

namespace refrain::properties {

/// Counted from 1; columns are characters, a tab is one.
struct Position {
  int line = 1, column = 1;
  bool operator==(const Position&) const = default;
};

struct Source {
  std::string name;  ///< as it is shown: the path of a file
  std::string text;
  bool is_library = false;  ///< others may declare its functions and constants again, and theirs count

  /// Line `number` without its end; empty when there is none.
  std::string_view line(int number) const;
};

/// A mistake in a specification. what() is the whole message: `FILE:LINE:COLUMN: message`, the line, and a caret below
/// the place.
class SpecificationError : public std::runtime_error {
 public:
  SpecificationError(const Source& source, Position at, const std::string& message);
  const Position at;
};

/// Reads a file. Throws std::runtime_error with its name when that is not possible, or when it is larger than 16 MiB.
Source read_source(const std::string& path);

}  // namespace refrain::properties
