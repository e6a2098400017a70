#include "offline/analysis/module_fold.hpp"

#include <algorithm>
#include <span>

namespace refrain::analysis {
namespace {

/// Whether `rest` may follow the name of a library or program: a version or an extension.
bool is_end(std::string_view rest) {
  return rest.empty() || rest[0] == '.' || rest[0] == '-' || (rest[0] >= '0' && rest[0] <= '9');
}

bool is_module(std::string_view file, std::string_view name) {
  return file.starts_with(name) && is_end(file.substr(name.size()));
}

/// Programs of users are called `julia` (after the sets) and `node`, too: only the libraries of these languages count.
constexpr std::string_view runtimes_of_languages[] = {
    "libpython",         "python", "pypy",    "libpypy", "libperl", "perl",   "libruby", "ruby",  "libR",   "libjulia",
    "libjulia-internal", "libjvm", "libnode", "lua",     "liblua",  "luajit", "libtcl",  "tclsh", "libphp", "php"};
constexpr std::string_view runtimes_of_openmp[] = {"libgomp", "libomp", "libiomp"};
constexpr std::string_view libraries_of_mpi[] = {
    "libmpi",    "libmpich", "libmpicxx", "libmpi_cxx", "libopen-rte", "libopen-pal", "libprrte", "libpmix",
    "libpmi",    "libucp",   "libuct",    "libucs",     "libucm",      "libfabric",   "libpsm",   "libpsm_infinipath",
    "libibverbs"};
constexpr std::string_view libraries_of_c[] = {"libc",        "libm",        "libpthread", "libdl",     "librt",
                                               "ld",          "libstdc++",   "libc++",     "libc++abi", "libgcc_s",
                                               "libgfortran", "libquadmath", "libflang",   "libifcore"};

bool is_one_of(std::string_view file, std::span<const std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return is_module(file, name); });
}

}  // namespace

Runtime runtime_of(std::string_view file) {
  if (is_one_of(file, runtimes_of_languages)) return Runtime::Language;
  if (is_one_of(file, runtimes_of_openmp)) return Runtime::OpenMp;
  if (is_one_of(file, libraries_of_mpi) || file.starts_with("mca_")) return Runtime::Mpi;
  return is_one_of(file, libraries_of_c) ? Runtime::C : Runtime::None;
}

bool ModuleFold::folds(std::string_view file) const {
  return std::ranges::any_of(modules, [&](std::string_view name) { return is_module(file, name); }) ||
         (runtimes && runtime_of(file) == Runtime::Language);
}

bool ModuleFold::folds_unnamed(std::string_view file) const { return runtimes && runtime_of(file) == Runtime::OpenMp; }

bool is_fold_of_runtime(std::string_view name) {
  return name.size() > 2 && name.front() == '[' && name.back() == ']' &&
         ModuleFold{{}, true}.folds(name.substr(1, name.size() - 2));
}

std::string name_of_fold(std::string_view file) { return "[" + std::string(file) + "]"; }

}  // namespace refrain::analysis
