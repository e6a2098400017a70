#pragma once
/// Finds symbols of loaded objects without the process's `dlsym`: the runtimes with MPI define one themselves
/// (adapters/mpi/calls/handle_symbols.hpp), and so may the program or another tool.

#include <cstdint>
#include <link.h>

namespace refrain::platform {

/// A loaded object: the offset added to its addresses, and its dynamic section.
struct LoadedObject {
  std::uintptr_t base;
  const ElfW(Dyn) * dynamic;
};
inline LoadedObject object_of(const link_map& map) { return {map.l_addr, map.l_ld}; }
/// The same in a callback of dl_iterate_phdr; `dynamic` is null for an object that has no such section.
LoadedObject object_of(const dl_phdr_info& info);

/// The address of the function that the object defines under this name; of several versions the default one. Null:
/// there is none. Reads the object's own tables, takes no lock and calls nothing. The object must stay loaded
/// meanwhile.
void* function_of(const LoadedObject& object, const char* name);

/// The next definition of `name` after this library's own, in the order in which objects were loaded, which is that of
/// the global scope; otherwise the first one before. Null: there is no other. For the start of a process, when no
/// object can be unloaded.
void* next_function_of_process(const char* name);

/// The object that contains this code.
LoadedObject own_object();

/// The C library's dlsym(), called from this object: RTLD_NEXT begins behind it. Ordinary context.
void* find_symbol(void* handle, const char* name);

}  // namespace refrain::platform
