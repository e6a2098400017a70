#pragma once
/// A finding as one line of text, for files and other processes. What is written is read again to the last bit.

#include <optional>
#include <string>
#include <string_view>

#include "offline/findings/finding.hpp"

namespace refrain::findings {

/// Without an end of line.
std::string to_line(const Finding& finding);
/// Nothing: it is no such line.
std::optional<Finding> from_line(std::string_view line);

}  // namespace refrain::findings
