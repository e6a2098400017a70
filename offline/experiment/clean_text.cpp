#include "offline/experiment/clean_text.hpp"

#include "config/utf8.hpp"

namespace refrain::experiment {

namespace {

template <class Stays>
std::string cleaned(std::string_view text, Stays stays) {
  constexpr std::string_view replacement = "\xef\xbf\xbd";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t n = config::utf8_length(text);
    const bool is_bad = n == 0 || (config::is_control(text, n) && !stays(text[0]));
    out += is_bad ? replacement : text.substr(0, n);
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

}  // namespace

std::string clean_text(std::string_view text) {
  return cleaned(text, [](char) { return false; });
}

std::string clean_lines(std::string_view text) {
  return cleaned(text, [](char c) { return c == '\n' || c == '\t'; });
}

std::string_view as_utf8(std::string_view text, std::string& memory) {
  std::size_t good = 0;
  for (std::size_t n; good < text.size() && (n = config::utf8_length(text.substr(good))) > 0;) good += n;
  if (good == text.size()) return text;
  return memory = cleaned(text, [](char) { return true; });
}

std::string xml_text(std::string_view text) {
  std::string escaped;
  for (const char c : clean_text(text)) {
    if (c == '&') escaped += "&amp;";
    else if (c == '<') escaped += "&lt;";
    else if (c == '>') escaped += "&gt;";
    else if (c == '"') escaped += "&quot;";
    else escaped += c;
  }
  return escaped;
}

}  // namespace refrain::experiment
