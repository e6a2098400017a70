#pragma once
/// Names of the functions of a loaded module, from the symbol tables of its file. Ordinary context only.

#include <cstdint>
#include <string_view>

#include "platform/function_ref.hpp"

namespace refrain::platform {

struct Function {
  std::string_view name;  ///< as the linker knows it; valid during the visit
  std::uintptr_t begin, end;
};

/// Calls `visit(function)` for every function of .symtab and of .dynsym that the file at `path` has, which is
/// loaded at `base` (run-time address minus address in the file); some come twice. Does nothing when the file cannot be
/// read or is not what is loaded. Descriptors are closed, errno may change.
using VisitFunction = FunctionRef<void(const Function&)>;
void for_each_function(const char* path, std::uintptr_t base, VisitFunction visit);

}  // namespace refrain::platform
