#include "offline/symbols/names.hpp"

#include <cctype>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>

#include "offline/experiment/clean_text.hpp"

namespace refrain::symbols {
namespace {

constexpr std::string_view clone_suffixes[] = {"constprop", "isra",       "part", "cold",    "lto_priv",
                                               "llvm",      "localalias", "warm", "unlikely"};

bool all_digits(std::string_view text) {
  for (const char c : text)
    if (!std::isdigit(static_cast<unsigned char>(c))) return false;
  return !text.empty();
}

/// Removes one `.suffix` or `.suffix.N` from the end; false if there is none.
bool strip_clone_suffix(std::string_view& name, bool& part) {
  auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  std::string_view last = name.substr(dot + 1), rest = name.substr(0, dot);
  if (all_digits(last)) {
    dot = rest.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return false;
    last = rest.substr(dot + 1);
    rest = rest.substr(0, dot);
  }
  for (const auto suffix : clone_suffixes) {
    if (last != suffix) continue;
    part = part || suffix == "part";
    name = rest;
    return true;
  }
  return false;
}

}  // namespace

FunctionName function_name(std::string_view symbol) {
  FunctionName result;
  while (strip_clone_suffix(symbol, result.part)) {
  }
  result.text = symbol;
  if (symbol.starts_with("_Z")) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> demangled(
        abi::__cxa_demangle(result.text.c_str(), nullptr, nullptr, &status), std::free);
    if (status == 0 && demangled) result.text = demangled.get();
  } else if (symbol.starts_with("__")) {
    const auto middle = symbol.find("_MOD_");
    if (middle != std::string_view::npos && middle > 2)
      result.text = std::string(symbol.substr(2, middle - 2)) + "::" + std::string(symbol.substr(middle + 5));
  }
  result.text = experiment::clean_text(result.text);
  return result;
}

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace refrain::symbols
