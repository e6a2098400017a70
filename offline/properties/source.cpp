#include "offline/properties/source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>

namespace refrain::properties {
namespace {

constexpr std::size_t most_bytes = 16 << 20;
constexpr std::size_t most_shown = 160;  ///< bytes of a line

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// The text with control characters replaced, since a terminal would obey them.
std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F) c = '?';
  return result;
}

/// The line with a caret below the column. A long line is shown from some way before the column.
std::string excerpt(std::string_view line, int column) {
  std::size_t place = 0;  // in bytes
  for (int left = column - 1; place < line.size() && left > 0; --left) {
    ++place;
    while (place < line.size() && !begins_character(line[place])) ++place;
  }
  std::size_t from = place > most_shown / 2 && line.size() > most_shown ? place - most_shown / 2 : 0;
  while (from > 0 && from < line.size() && !begins_character(line[from])) --from;
  std::size_t to = std::min(line.size(), from + most_shown);
  while (to < line.size() && !begins_character(line[to])) ++to;
  std::string indent;
  for (const char c : line.substr(from, place - from))
    if (begins_character(c)) indent += c == '\t' ? '\t' : ' ';
  return fmt::format("  {}\n  {}^", printable(line.substr(from, to - from)), indent);
}

}  // namespace

std::string_view Source::line(int number) const {
  std::string_view rest = text;
  for (; number > 1; --number) {
    const std::size_t end = rest.find('\n');
    if (end == rest.npos) return {};
    rest.remove_prefix(end + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

SpecificationError::SpecificationError(const Source& source, Position at, const std::string& message)
    : std::runtime_error(fmt::format("{}:{}:{}: {}\n{}", source.name, at.line, at.column, printable(message),
                                     excerpt(source.line(at.line), at.column))),
      at(at) {}

Source read_source(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": " + std::strerror(errno));
  Source source{path, {}};
  char buffer[1 << 16];
  while (file.read(buffer, sizeof buffer) || file.gcount() > 0) {
    source.text.append(buffer, static_cast<std::size_t>(file.gcount()));
    if (source.text.size() > most_bytes) throw std::runtime_error(path + ": larger than 16 MiB, no specification");
  }
  if (file.bad()) throw std::runtime_error(path + ": " + std::strerror(errno != 0 ? errno : EIO));
  return source;
}

}  // namespace refrain::properties
