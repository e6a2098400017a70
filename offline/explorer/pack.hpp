#pragma once
/// Compression and base64, so that a section is text which no element of HTML can be ended by.

#include <string>
#include <string_view>

namespace refrain::explorer {

/// gzip. Throws std::runtime_error.
std::string compressed(std::string_view data);
std::string base64(std::string_view data);
/// Characters that base64 has for so many bytes.
constexpr std::size_t base64_size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

}  // namespace refrain::explorer
