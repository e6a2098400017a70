#include "offline/properties/words.hpp"

#include <algorithm>

#include "config/near_names.hpp"

namespace refrain::properties {

std::string small_letters(std::string_view word) {
  std::string result(word);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  config::NearNames near(name);
  for (const std::string& one : known) near.consider(one);
  return near.count() == 0 ? std::string() : "; did you mean " + std::string(near.name(0)) + "?";
}

}  // namespace refrain::properties
