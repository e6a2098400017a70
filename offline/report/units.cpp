#include "offline/report/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace refrain::report {
namespace {

/// Replaces what stands between the outermost `open` and `close` brackets.
std::string collapse(std::string_view name, char open, char close, std::string_view ellipsis) {
  std::string result;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    // operator<, operator<<, operator-> and operator() are names, not brackets.
    if (depth == 0 && name.substr(i).starts_with("operator")) {
      std::size_t end = i + 8;
      if (name.substr(end).starts_with("()")) end += 2;
      while (end < name.size() && (name[end] == '<' || name[end] == '>' || name[end] == '-' || name[end] == '=')) ++end;
      result += name.substr(i, end - i);
      i = end - 1;
      continue;
    }
    if (c == open) {
      if (depth++ == 0) {
        result += c;
        if (i + 1 < name.size() && name[i + 1] != close) result += ellipsis;
      }
    } else if (c == close && depth > 0) {
      if (--depth == 0) result += c;
    } else if (depth == 0) {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return width;
}

std::string cut_to(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  for (std::size_t columns = 0; end < text.size(); ++end)
    if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80 && columns++ == width) break;
  return std::string(text.substr(0, end));
}

std::string end_of(std::string_view text, std::size_t width) {
  std::size_t from = text.size();
  for (std::size_t columns = 0; from > 0 && columns < width;)
    if ((static_cast<unsigned char>(text[--from]) & 0xc0) != 0x80) ++columns;
  return std::string(text.substr(from));
}

std::string fit_name(std::string_view name, std::size_t width, std::string_view ellipsis) {
  std::string text(name);
  if (!text.starts_with('(')) {  // else it is one of our own, such as (not on CPU), or an anonymous namespace
    if (display_width(text) > width) text = collapse(text, '(', ')', ellipsis);
    if (display_width(text) > width) text = collapse(text, '<', '>', ellipsis);
  }
  return fit_words(text, width, ellipsis);
}

std::string fit_words(std::string_view text, std::size_t width, std::string_view ellipsis) {
  if (display_width(text) <= width) return std::string(text);
  const std::size_t mark = display_width(ellipsis);
  return width <= mark ? cut_to(text, width) : cut_to(text, width - mark) + std::string(ellipsis);
}

std::string joined_path(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, " > ")); }

std::string fit_path(const std::string& path, std::size_t width, std::string_view ellipsis) {
  const std::size_t used = display_width(path), mark = display_width(ellipsis);
  if (used <= width) return path;
  if (width <= mark) return end_of(path, width);
  std::string end = end_of(path, width - mark);
  if (const std::size_t step = end.find(" > "); step != std::string::npos) end = end.substr(step + 1);
  return std::string(ellipsis) + end;
}

}  // namespace refrain::report
