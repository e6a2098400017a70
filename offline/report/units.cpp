#include "offline/report/units.hpp"

#include <algorithm>
#include <cwchar>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <locale.h>

#include "config/utf8.hpp"

namespace refrain::report {
namespace {

/// Replaces what is between the outermost `open` and `close` brackets by `ellipsis`.
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

/// wcwidth() knows characters beyond ASCII only in a UTF-8 locale: this one does not depend on the environment.
std::size_t columns_of(char32_t point) {
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return 1;
  const locale_t before = uselocale(utf8);
  const int columns = wcwidth(static_cast<wchar_t>(point));
  uselocale(before);
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

struct Character {
  std::string_view text;
  std::size_t columns;
};

std::vector<Character> characters_of(std::string_view text) {
  std::vector<Character> all;
  while (!text.empty()) {
    const std::size_t bytes = std::max<std::size_t>(config::utf8_length(text), 1);
    char32_t point = static_cast<unsigned char>(text[0]) & (0xffU >> (bytes + 1));
    for (std::size_t i = 1; i < bytes; ++i) point = (point << 6) | (static_cast<unsigned char>(text[i]) & 0x3fU);
    all.push_back({text.substr(0, bytes), bytes == 1 ? 1 : columns_of(point)});
    text.remove_prefix(bytes);
  }
  return all;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  if (std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) return text.size();
  std::size_t width = 0;
  for (const Character& of : characters_of(text)) width += of.columns;
  return width;
}

std::string cut_to(std::string_view text, std::size_t width) {
  std::string beginning;
  for (const Character& of : characters_of(text)) {
    if (of.columns > width) break;
    width -= of.columns;
    beginning += of.text;
  }
  return beginning;
}

std::string end_of(std::string_view text, std::size_t width) {
  std::size_t left = display_width(text);
  for (const Character& of : characters_of(text)) {
    if (left <= width) break;
    left -= of.columns;
    text.remove_prefix(of.text.size());
  }
  return std::string(text);
}

std::string fit_name(std::string_view name, std::size_t width, std::string_view ellipsis) {
  std::string text(name);
  if (!text.starts_with('(')) {  // otherwise one of our own names, such as (not on CPU), or an anonymous namespace
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

std::string fit_sentence(const std::vector<std::string>& parts, std::size_t width, std::string_view ellipsis) {
  constexpr std::size_t least_path = 20;
  const auto is_path = [](std::size_t part) { return part % 2 == 1; };
  std::size_t words = 0, paths = 0;
  for (std::size_t i = 0; i < parts.size(); ++i)
    (is_path(i) ? paths : words) += is_path(i) ? 1 : display_width(parts[i]);
  const std::size_t each = width > words && paths > 0 ? (width - words) / paths : 0;
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += is_path(i) ? fit_path(parts[i], std::max(each, least_path), ellipsis) : parts[i];
  return fit_words(text, width, ellipsis);
}

std::string fit_items(const std::vector<std::string>& items, std::size_t width, std::string_view ellipsis) {
  std::string text;
  for (const std::string& item : items) {
    if (text.empty()) text = fit_words(item, width, ellipsis);
    else if (display_width(text) + 2 + display_width(item) <= width) text += ", " + item;
    else break;
  }
  return text;
}

std::string as_ascii(std::string_view text) {
  std::string ascii;
  for (const Character& of : characters_of(text))
    ascii += static_cast<unsigned char>(of.text[0]) < 0x80 ? std::string(of.text) : std::string(of.columns, '?');
  return ascii;
}

}  // namespace refrain::report
