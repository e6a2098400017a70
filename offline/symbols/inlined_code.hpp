#pragma once
/// Where the code of a function is according to debug information: its own code, and its copies where the compiler has
/// inlined it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::symbols {

struct CodeOfFunction {
  struct Range {
    std::uint64_t begin, end;  ///< addresses in the module's file
  };
  std::string build_id;  ///< of the module, in hexadecimal; empty: it has none, or no debug information
  std::vector<Range>
      ranges;  ///< sorted and disjoint; empty: the function is not there, or there is no debug information
};

/// The code of `function`, as a user writes it (config/function_name.hpp), in the executable or shared library `path`.
CodeOfFunction code_of_function(const std::string& path, std::string_view function);

}  // namespace refrain::symbols
