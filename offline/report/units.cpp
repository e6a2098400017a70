#include "offline/report/units.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>

#include "config/utf8.hpp"

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

struct Character {
  std::size_t bytes, columns;
};

struct CodePoints {
  char32_t first, last;
};

/// Ranges of wide and fullwidth characters, and of emoji that are shown as pictures.
constexpr CodePoints wide_ranges[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x23f0, 0x23f0},   {0x23f3, 0x23f3},
    {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267f, 0x267f},   {0x2693, 0x2693},
    {0x26a1, 0x26a1},   {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},   {0x26ce, 0x26ce},
    {0x26d4, 0x26d4},   {0x26ea, 0x26ea},   {0x26f2, 0x26f3},   {0x26f5, 0x26f5},   {0x26fa, 0x26fa},
    {0x26fd, 0x26fd},   {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},   {0x274c, 0x274c},
    {0x274e, 0x274e},   {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27b0, 0x27b0},
    {0x27bf, 0x27bf},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2b55, 0x2b55},   {0x2e80, 0x303e},
    {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0xa4cf},   {0xa960, 0xa97c},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6b},   {0xff01, 0xff60},   {0xffe0, 0xffe6},
    {0x16fe0, 0x18cff}, {0x1aff0, 0x1b2fb}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e},
    {0x1f191, 0x1f19a}, {0x1f200, 0x1f320}, {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393},
    {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e},
    {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567},
    {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5},
    {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc},
    {0x1f7e0, 0x1f7f0}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1faff},
    {0x20000, 0x3fffd}};

/// Ranges of marks that stand over, under or inside of the character before them, and of characters without a shape.
constexpr CodePoints mark_ranges[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489},   {0x0591, 0x05bd},   {0x05bf, 0x05c7},  {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x0670, 0x0670}, {0x06d6, 0x06dc},   {0x06df, 0x06e4},   {0x06e7, 0x06e8},  {0x06ea, 0x06ed}, {0x0900, 0x0902},
    {0x093a, 0x093a}, {0x093c, 0x093c},   {0x0941, 0x0948},   {0x094d, 0x094d},  {0x0951, 0x0957}, {0x0e31, 0x0e31},
    {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e},   {0x1160, 0x11ff},   {0x1ab0, 0x1ace},  {0x1dc0, 0x1dff}, {0x200b, 0x200f},
    {0x202a, 0x202e}, {0x2060, 0x2064},   {0x20d0, 0x20f0},   {0x302a, 0x302d},  {0x3099, 0x309a}, {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},   {0xe0100, 0xe01ef}};

template <std::size_t n>
bool is_in(const CodePoints (&ranges)[n], char32_t point) {
  const auto* const at = std::ranges::lower_bound(ranges, point, {}, &CodePoints::last);
  return at != std::end(ranges) && at->first <= point;
}

/// The first one of a text that is not empty.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t bytes = config::utf8_length(text);
  if (bytes <= 1) return {1, 1};
  char32_t point = byte(0) & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) point = (point << 6) | (byte(i) & 0x3fU);
  return {bytes, is_in(mark_ranges, point) ? 0U : is_in(wide_ranges, point) ? 2U : 1U};
}

/// Calls use(place, character) until it says false.
template <class Use>
void for_each_character(std::string_view text, const Use& use) {
  for (std::size_t at = 0; at < text.size();) {
    const Character of = first_character(text.substr(at));
    if (!use(at, of)) return;
    at += of.bytes;
  }
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for_each_character(text, [&](std::size_t, const Character& of) {
    width += of.columns;
    return true;
  });
  return width;
}

std::string cut_to(std::string_view text, std::size_t width) {
  std::size_t end = 0, columns = 0;
  for_each_character(text, [&](std::size_t at, const Character& of) {
    if (columns + of.columns > width) return false;
    columns += of.columns;
    end = at + of.bytes;
    return true;
  });
  return std::string(text.substr(0, end));
}

std::string end_of(std::string_view text, std::size_t width) {
  std::size_t from = 0, left = display_width(text);
  for_each_character(text, [&](std::size_t at, const Character& of) {
    from = at;
    if (left <= width) return false;
    left -= of.columns;
    from = at + of.bytes;
    return true;
  });
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

std::string fit_sentence(const std::vector<std::string>& parts, std::size_t width, std::string_view ellipsis) {
  constexpr std::size_t least_path = 20;
  const auto is_path = [](std::size_t part) { return part % 2 == 1; };
  std::size_t words = 0, paths = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) (is_path(i) ? paths : words) += is_path(i) ? 1 : display_width(parts[i]);
  const std::size_t each = width > words && paths > 0 ? (width - words) / paths : 0;
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += is_path(i) ? fit_path(parts[i], std::max(each, least_path), ellipsis) : parts[i];
  return fit_words(text, width, ellipsis);
}

std::string as_ascii(std::string_view text) {
  std::string ascii;
  for_each_character(text, [&](std::size_t at, const Character& of) {
    const bool is_ascii = static_cast<unsigned char>(text[at]) < 0x80;
    ascii.append(is_ascii ? 1 : of.columns, is_ascii ? text[at] : '?');
    return true;
  });
  return ascii;
}

}  // namespace refrain::report
