#pragma once
/// Text from a file, made fit for terminals, JSON and XML: the one place that does it.

#include <string>
#include <string_view>

namespace refrain::experiment {

/// Valid UTF-8 without control characters: each bad byte and each control character becomes U+FFFD.
std::string clean_text(std::string_view text);
/// The same for several lines: their ends stay, and tabulators.
std::string clean_lines(std::string_view text);
/// Valid UTF-8, control characters and all, for JSON, which escapes these. `memory` holds it where `text` is not valid.
std::string_view as_utf8(std::string_view text, std::string& memory);
void replace_all(std::string& text, std::string_view what, std::string_view by);
/// clean_text() in an element or a quoted attribute of XML 1.0, which also lacks U+FFFE and U+FFFF.
std::string xml_text(std::string_view text);

}  // namespace refrain::experiment
