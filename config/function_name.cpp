#include "config/function_name.hpp"

#include <cstddef>

#include "config/text.hpp"

namespace refrain::config {

namespace {

/// Removes "3run" from the front of `rest`. False: there is no such name.
bool take_name(std::string_view& rest, std::string_view& name) {
  std::size_t length = 0, digits = 0;
  while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9' && length < 100'000)
    length = length * 10 + static_cast<std::size_t>(rest[digits++] - '0');
  if (digits == 0 || length == 0 || length > rest.size() - digits) return false;
  name = first_of(without_first(rest, digits), length);
  rest.remove_prefix(digits + length);
  return true;
}

/// Removes "run" from the end of "Verlet::run".
std::string_view take_last(std::string_view& wanted) {
  const auto colons = wanted.rfind("::");
  const std::string_view last = colons == std::string_view::npos ? wanted : without_first(wanted, colons + 2);
  wanted = colons == std::string_view::npos ? std::string_view() : first_of(wanted, colons);
  return last;
}

constexpr std::size_t max_names = 32;

bool ends_with(const std::string_view* names, std::size_t count, std::string_view wanted) {
  while (!wanted.empty()) {
    if (count == 0) return false;
    if (names[--count] != take_last(wanted)) return false;
  }
  return true;
}

/// Skips template arguments "I...E" that contain only names, literals, and letters other than E.
bool skip_arguments(std::string_view& rest) {
  rest.remove_prefix(1);
  for (std::string_view ignored; !rest.empty() && rest[0] != 'E';) {
    if (rest[0] == 'I' || rest[0] == 'N') {
      if (!skip_arguments(rest)) return false;
    } else if (rest[0] == 'L') {  // a literal: type, value, E
      rest.remove_prefix(rest.find('E') == std::string_view::npos ? rest.size() : rest.find('E') + 1);
    } else if (!take_name(rest, ignored)) {
      rest.remove_prefix(1);
    }
  }
  if (rest.empty()) return false;
  rest.remove_prefix(1);
  return true;
}

bool is_cxx_function(std::string_view symbol, std::string_view wanted) {
  std::string_view rest = without_first(symbol, 2), names[max_names];
  std::size_t count = 0;
  const bool nested = rest.starts_with('N');
  if (nested) rest.remove_prefix(1);
  while (nested && !rest.empty() && (rest[0] == 'K' || rest[0] == 'V' || rest[0] == 'r')) rest.remove_prefix(1);
  if (rest.starts_with("St")) {
    names[count++] = "std";
    rest.remove_prefix(2);
  } else if (rest.starts_with('L')) {
    rest.remove_prefix(1);  // marks internal linkage
  }
  while (count < max_names && take_name(rest, names[count])) {
    ++count;
    if (rest.starts_with('I') && !skip_arguments(rest)) return false;
    if (!nested) break;
    if (rest.starts_with('L')) rest.remove_prefix(1);
  }
  if (count == 0 || (nested && !rest.starts_with('E'))) return false;
  return ends_with(names, count, wanted);
}

}  // namespace

bool is_function(std::string_view symbol, std::string_view wanted) {
  if (symbol == wanted) return true;
  if (const auto dot = symbol.find('.'); dot != std::string_view::npos && dot > 0) symbol = first_of(symbol, dot);
  if (symbol == wanted) return true;
  if (symbol.starts_with("_Z")) return is_cxx_function(symbol, wanted);
  // gfortran: a procedure ends with an underscore; one of a module is __module_MOD_procedure.
  const std::string_view last = take_last(wanted);
  if (wanted.empty()) {
    if (symbol.size() == last.size() + 1 && symbol.starts_with(last) && symbol.back() == '_') return true;
    const auto mod = symbol.find("_MOD_");
    return symbol.starts_with("__") && mod != std::string_view::npos && without_first(symbol, mod + 5) == last;
  }
  return symbol.size() == 2 + wanted.size() + 5 + last.size() && symbol.starts_with("__") &&
         without_first(symbol, 2).starts_with(wanted) &&
         without_first(symbol, 2 + wanted.size()).starts_with("_MOD_") && symbol.ends_with(last);
}

}  // namespace refrain::config
