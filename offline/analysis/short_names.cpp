#include "offline/analysis/short_names.hpp"

#include <string_view>
#include <vector>

namespace refrain::analysis {

namespace {

/// Whether this is an operator of C++: "a::operator<<", not "apply_operator" and "operators::f".
bool is_operator(std::string_view name) {
  constexpr std::string_view word = "operator";
  const auto is_of_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  for (std::size_t at = name.find(word); at != name.npos; at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_of_word(name[at - 1])) && (end == name.size() || !is_of_word(name[end]))) return true;
  }
  return false;
}

/// Whether the first parentheses, outside of template arguments, do not hold the arguments of the function:
/// "outer(int)::{lambda()#1}::_FUN", "decltype(auto) f".
bool has_brackets_before(std::string_view name) {
  if (name.find("decltype(") != name.npos) return true;
  int angles = 0, brackets = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (brackets == 0 && c == '<') ++angles;
    if (brackets == 0 && c == '>') --angles;
    if (angles != 0) continue;
    if (c == '(') ++brackets;
    if (c == ')' && --brackets == 0) return name.substr(i + 1).starts_with("::");
  }
  return false;
}

}  // namespace

std::string qualified_name(const std::string& name) {
  static const std::string unnamed = "(anonymous namespace)";
  std::string plain = name;
  for (std::size_t at; (at = plain.find(unnamed)) != plain.npos;) plain.replace(at, unnamed.size(), "{}");
  if (plain.starts_with('(') || is_operator(plain) || has_brackets_before(plain)) return name;
  std::string text;
  int depth = 0;
  for (const char c : plain) {
    if (c == '(' && depth == 0 && !text.empty()) break;
    if (c == '<') ++depth;
    else if (c == '>') --depth;
    else if (depth == 0) text += c;
    if (depth < 0) return name;
  }
  // Only names with arguments have a return type in front; marks and files may have spaces in their names.
  if (text.size() < plain.size()) text = text.substr(text.rfind(' ') + 1);
  return depth != 0 || text.empty() ? name : text;
}

std::string short_name(const std::string& name) {
  std::string text = qualified_name(name);
  if (text == name && text.find_first_of("<(") != text.npos) return text;  // not understood
  for (const char* known : {"std::", "__gnu_cxx::"})
    if (text.starts_with(known)) return text;
  const std::size_t last = text.rfind("::");
  if (last == text.npos || last == 0) return text;
  const std::size_t before = text.rfind("::", last - 1);
  return before == text.npos ? text : text.substr(before + 2);
}

namespace {

/// "f<...>(int)" of "f<std::vector<int>>(int)".
std::string without_template_arguments(const std::string& name) {
  if (is_operator(name)) return name;
  std::string text;
  int depth = 0;
  for (const char c : name) {
    if (c == '<' && depth++ == 0) text += "<...>";
    if (depth == 0) text += c;
    if (c == '>' && --depth < 0) return name;
  }
  return depth == 0 ? text : name;
}

}  // namespace

void ReadableNames::add(const std::string& name) {
  by_short_[short_name(name)].insert(name);
  by_qualified_[qualified_name(name)].insert(name);
  by_folded_[without_template_arguments(name)].insert(name);
}

std::string ReadableNames::of(const std::string& name) const {
  const auto is_alone = [](const auto& names, const std::string& as) {
    const auto at = names.find(as);
    return at != names.end() && at->second.size() == 1;
  };
  if (std::string text = short_name(name); is_alone(by_short_, text)) return text;
  if (std::string text = qualified_name(name); is_alone(by_qualified_, text)) return text;
  std::string text = without_template_arguments(name);
  return is_alone(by_folded_, text) ? text : name;
}

std::string short_path(std::span<const std::string> names) {
  constexpr std::size_t most = 2;
  std::vector<std::string> path;
  for (const std::string& name : names)
    if (std::string text = short_name(name); path.empty() || path.back() != text) path.push_back(std::move(text));
  if (path.empty()) return "(unknown)";
  std::string text;
  for (const std::string& name : std::span(path).last(std::min(path.size(), most)))
    text += (text.empty() ? "" : " > ") + name;
  return text;
}

}  // namespace refrain::analysis
