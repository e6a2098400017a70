#pragma once
/// Parts of a text. string_view::substr can throw, for which the runtime half has no library.

#include <cstddef>
#include <string_view>

namespace refrain::config {

/// `count` must be at most the text's size.
constexpr std::string_view first_of(std::string_view text, std::size_t count) { return {text.data(), count}; }
/// Likewise.
constexpr std::string_view without_first(std::string_view text, std::size_t count) {
  text.remove_prefix(count);
  return text;
}

/// The part behind the last slash.
constexpr std::string_view file_name_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : without_first(path, slash + 1);
}
/// Removes the part before `separator`, and the separator, from the front of `text`. Returns that part.
constexpr std::string_view take_until(std::string_view& text, char separator) {
  const auto at = text.find(separator);
  const std::string_view part = at == std::string_view::npos ? text : first_of(text, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

}  // namespace refrain::config
