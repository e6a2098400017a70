#pragma once
/// Converts the linker's name of a function to the one that people use.

#include <cstring>
#include <string>
#include <string_view>
#include <tuple>

namespace refrain::symbols {

struct FunctionName {
  std::string text;
  bool part = false;  ///< the out-of-line rest of a function that was inlined in part (`.part.N`): same activation
};

/// C++ names are demangled, `__module_MOD_procedure` of gfortran becomes `module::procedure`, and the suffixes of
/// optimisers (`.constprop.0`, `.isra.0`, `.part.0`, `.cold`, `.lto_priv.0`, ...) are removed. Plain C names stay as
/// they are.
FunctionName function_name(std::string_view symbol);

/// Orders several names of one address, the best first: by lowest `rank`, then fewest leading underscores, then
/// shortest name.
inline auto order_of_names(int rank, const char* name) {
  return std::tuple(rank, std::strspn(name, "_"), std::strlen(name), std::string_view(name));
}

/// Last component of a path.
std::string_view base_name(std::string_view path);

}  // namespace refrain::symbols
