#pragma once
/// Text from a file, made fit for terminals and JSON.

#include <string>
#include <string_view>

namespace refrain::experiment {

/// Valid UTF-8 without control characters: each bad byte and each control character becomes U+FFFD.
std::string clean_text(std::string_view text);

}  // namespace refrain::experiment
