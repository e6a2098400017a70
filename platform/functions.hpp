#pragma once
/// Reads the names of a loaded module's functions from the symbol tables of its file. Ordinary context only.

#include <cstdint>
#include <string_view>

#include "platform/function_ref.hpp"

namespace refrain::platform {

struct Function {
  std::string_view name;  ///< the linker's name; valid during the visit
  std::uintptr_t begin, end;
};

/// Calls `visit(function)` for every function in .symtab and .dynsym of the file at `path`, which is loaded at `base`
/// (run-time address minus address in the file); some functions come twice. Does nothing if the file cannot be read or
/// is not the loaded one. Descriptors are closed; errno may change.
using VisitFunction = FunctionRef<void(const Function&)>;
void for_each_function(const char* path, std::uintptr_t base, VisitFunction visit);

}  // namespace refrain::platform
