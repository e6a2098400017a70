#include "offline/experiment/clean_text.hpp"

#include "config/utf8.hpp"

namespace refrain::experiment {

std::string clean_text(std::string_view text) {
  constexpr std::string_view replacement = "\xef\xbf\xbd";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t n = config::utf8_length(text);
    out += n == 0 || config::is_control(text, n) ? replacement : text.substr(0, n);
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

}  // namespace refrain::experiment
