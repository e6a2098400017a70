#pragma once
/// The text of a specification, positions in it, and mistakes that are reported with their position.

#include <stdexcept>
#include <string>
#include <string_view>

namespace refrain::properties {

/// Line and column, counted from 1. Columns are characters; a tab is one.
struct Position {
  int line = 1, column = 1;
  bool operator==(const Position&) const = default;
};

struct Source {
  std::string name;  ///< as shown: the path of a file
  std::string text;
  bool is_library = false;  ///< other sources may redeclare its functions and constants, and override them

  /// Line `number` without its end; empty when there is none.
  std::string_view line(int number) const;
};

/// A mistake in a specification. what() is the whole message: `FILE:LINE:COLUMN: message`, the line, and a caret below
/// the position.
class SpecificationError : public std::runtime_error {
 public:
  SpecificationError(const Source& source, Position at, const std::string& message);
  const Position at;
};

/// Reads a file. Throws std::runtime_error with the file name when it cannot be read or is larger than 16 MiB.
Source read_source(const std::string& path);

}  // namespace refrain::properties
