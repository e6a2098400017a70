#pragma once
/// Text from a file, made fit for terminals and JSON. Offline half.

#include <string>
#include <string_view>

namespace refrain::archive {

/// Valid UTF-8 without control characters: each bad byte and each control character becomes U+FFFD.
std::string clean_text(std::string_view text);

}  // namespace refrain::archive
