#include "archive/clean_text.hpp"

#include "archive/utf8.hpp"

namespace refrain::archive {

std::string clean_text(std::string_view text) {
  constexpr std::string_view replacement = "\xef\xbf\xbd";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t n = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    // C1 control characters are U+0080 to U+009F: c2 80 to c2 9f.
    const bool control =
        first < 0x20 || first == 0x7f || (n == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    out += n == 0 || control ? replacement : text.substr(0, n);
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

}  // namespace refrain::archive
