#pragma once
/// Makes text from files safe for terminals, JSON and XML. No other code does this.

#include <string>
#include <string_view>

namespace refrain::experiment {

/// Valid UTF-8 without control characters: each bad byte and each control character becomes U+FFFD.
std::string clean_text(std::string_view text);
/// As clean_text(), for several lines: keeps line feeds and tabs.
std::string clean_lines(std::string_view text);
/// Valid UTF-8 for JSON. Keeps control characters, which JSON escapes. `memory` holds the result if `text` is invalid.
std::string_view as_utf8(std::string_view text, std::string& memory);
void replace_all(std::string& text, std::string_view what, std::string_view by);
/// clean_text() escaped for an element or a quoted attribute of XML 1.0, which also forbids U+FFFE and U+FFFF.
std::string xml_text(std::string_view text);

}  // namespace refrain::experiment
