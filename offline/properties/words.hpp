#pragma once
/// Words of specifications, compared as databases and people do.

#include <string>
#include <string_view>
#include <vector>

namespace refrain::properties {

/// The word with ASCII letters in lower case.
std::string small_letters(std::string_view word);
/// "; did you mean X?" with the nearest known name; empty when none is near.
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

}  // namespace refrain::properties
