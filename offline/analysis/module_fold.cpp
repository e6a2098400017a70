#include "offline/analysis/module_fold.hpp"

#include <algorithm>

namespace refrain::analysis {
namespace {

/// What a name goes on with after the name of a library or program: a version or an extension.
bool is_end(std::string_view rest) {
  return rest.empty() || rest[0] == '.' || rest[0] == '-' || (rest[0] >= '0' && rest[0] <= '9');
}

bool is_module(std::string_view file, std::string_view name) {
  return file.starts_with(name) && is_end(file.substr(name.size()));
}

/// Programs of users are called `julia` (after the sets) and `node`, too: of these languages only the libraries count.
constexpr std::string_view runtimes_of_languages[] = {
    "libpython",         "python", "pypy",    "libpypy", "libperl", "perl",   "libruby", "ruby",  "libR",   "libjulia",
    "libjulia-internal", "libjvm", "libnode", "lua",     "liblua",  "luajit", "libtcl",  "tclsh", "libphp", "php"};
constexpr std::string_view runtimes_of_openmp[] = {"libgomp", "libomp", "libiomp"};

}  // namespace

bool ModuleFold::folds(std::string_view file) const {
  const auto is = [&](std::string_view name) { return is_module(file, name); };
  return std::ranges::any_of(modules, is) || (runtimes && std::ranges::any_of(runtimes_of_languages, is));
}

bool ModuleFold::folds_unnamed(std::string_view file) const {
  return runtimes &&
         std::ranges::any_of(runtimes_of_openmp, [&](std::string_view name) { return is_module(file, name); });
}

bool is_fold_of_runtime(std::string_view name) {
  return name.size() > 2 && name.front() == '[' && name.back() == ']' &&
         ModuleFold{{}, true}.folds(name.substr(1, name.size() - 2));
}

std::string name_of_fold(std::string_view file) { return "[" + std::string(file) + "]"; }

}  // namespace refrain::analysis
