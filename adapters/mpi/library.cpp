#include "adapters/mpi/library.hpp"

#include <atomic>
#include <cstring>
#include <dlfcn.h>

#include "adapters/mpi/fortran_symbols.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/modules.hpp"
#include "regions.hpp"

namespace refrain::adapters::mpi {

OwnCalls pmpi;
Constants constants;

namespace {

enum class State { Unknown, Good, Bad };
std::atomic<State> state{State::Unknown};
std::atomic<void*> library{nullptr};

int unavailable() { return MPI_ERR_OTHER; }

/// A failed look-up must not show up in the program's own dlerror().
void* quietly(void* found) {
  if (!found) dlerror();
  return found;
}

void* own_symbol(const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  void* handle = library.load(std::memory_order_relaxed);
  return quietly(handle ? dlsym(handle, name) : nullptr);
}

/// A process without MPI may have functions of these names in a stand-in for MPI on a single process. Its library may
/// be loaded with RTLD_LOCAL: without Refrain in the global scope, calls from there would find these functions.
void* in_some_module(const char* name) {
  Dl_info own{};
  if (!dladdr(&pmpi, &own)) return nullptr;
  platform::refresh_modules();
  platform::Module module;
  for (std::size_t i = 0; platform::copy_module(i, module); ++i) {
    if (!module.mapped) continue;
    void* handle = dlopen(module.path, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) continue;
    void* found = dlsym(handle, name);
    dlclose(handle);  // the program's own handle keeps it
    Dl_info info{};
    if (found && dladdr(found, &info) && info.dli_fbase != own.dli_fbase) return found;
  }
  return quietly(nullptr);
}

/// Data may have been copied into the executable (copy relocation), so the global scope comes first.
void* data_symbol(const char* name) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return found;
  void* handle = library.load(std::memory_order_relaxed);
  return quietly(handle ? dlsym(handle, name) : nullptr);
}

template <class F>
bool find(F& function, const char* name) {
  void* found = own_symbol(name);
  function = reinterpret_cast<F>(found ? found : reinterpret_cast<void*>(&unavailable));
  return found;
}

/// One of these libraries, if it is loaded.
bool open_loaded(const char* const* names) {
  for (; *names; ++names) {
    if (void* handle = dlopen(*names, RTLD_LAZY | RTLD_NOLOAD)) {
      library.store(handle, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

}  // namespace

bool open_library() {
  State now = state.load(std::memory_order_acquire);
  if (now != State::Unknown) return now == State::Good;
  // No lock is held over the loader's functions: the loader has one of its own, and constructors that run below it may
  // call MPI. Threads that come here at the same time find the same.
  if (!dlsym(RTLD_NEXT, "PMPI_Init")) {  // not in the global scope: loaded late and locally
    if (!open_loaded(library_names)) open_loaded(foreign_library_names);
    dlerror();
  }
  bool good = true;
#define REFRAIN_FIND(name) good &= find(pmpi.name, "PMPI_" #name);
  REFRAIN_OWN_USES(REFRAIN_FIND)
#undef REFRAIN_FIND
  good &= find_constants(data_symbol);
  if (!good) {
    measurement::calls_pass_through.store(true);
    measurement::calls_have_extras.store(true);
  }
  measurement::mpi_region_names = {region_names, region_count};
  state.store(good ? State::Good : State::Bad, std::memory_order_release);
  return good;
}

void* next_fortran_function(const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  void* found = nullptr;
  for (const char* const* library = fortran_library_sonames; *library && !found; ++library) {
    if (void* handle = dlopen(*library, RTLD_LAZY | RTLD_NOLOAD)) {
      found = dlsym(handle, name);
      dlclose(handle);  // the program's own handle keeps it
    }
  }
  return found ? found : in_some_module(name);
}

void* next_function(const char* name) {
  const bool good = open_library();
  void* found = name[0] == 'P' ? own_symbol(name) : quietly(dlsym(RTLD_NEXT, name));
  char profiling[96] = "P";
  if (!found && name[0] != 'P' && std::strlen(name) + 2 <= sizeof profiling) {
    std::strcpy(profiling + 1, name);
    found = own_symbol(profiling);
  }
  return found || good ? found : in_some_module(name);
}

}  // namespace refrain::adapters::mpi
