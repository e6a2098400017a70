#include "offline/experiment/clean_text.hpp"

#include "config/utf8.hpp"

namespace refrain::experiment {

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

template <class Stays>
std::string cleaned(std::string_view text, Stays stays) {
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

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

std::string xml_text(std::string_view text) {
  std::string clean = clean_text(text);
  for (const std::string_view none : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) replace_all(clean, none, replacement);
  std::string escaped;
  for (const char c : clean) {
    if (c == '&') escaped += "&amp;";
    else if (c == '<') escaped += "&lt;";
    else if (c == '>') escaped += "&gt;";
    else if (c == '"') escaped += "&quot;";
    else escaped += c;
  }
  return escaped;
}

}  // namespace refrain::experiment
