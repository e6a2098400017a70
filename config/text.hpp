#pragma once
/// Parts of a text. string_view::substr can throw, which the runtime half has no library for.

#include <cstddef>
#include <string_view>

namespace refrain::config {

/// `count` is at most the text's size.
constexpr std::string_view first_of(std::string_view text, std::size_t count) { return {text.data(), count}; }
constexpr std::string_view without_first(std::string_view text, std::size_t count) {
  text.remove_prefix(count);
  return text;
}

}  // namespace refrain::config
