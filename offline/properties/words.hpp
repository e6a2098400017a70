#pragma once
/// Words of specifications, compared as databases and people do.

#include <string>
#include <string_view>
#include <vector>

namespace refrain::properties {

/// Letters of ASCII.
std::string small_letters(std::string_view word);
/// "; did you mean X?" with the nearest one of these, or nothing when none is near.
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

}  // namespace refrain::properties
