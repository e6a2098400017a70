#include "adapters/mpi/library.hpp"

#include <atomic>
#include <cstring>
#include <dlfcn.h>

#include "adapters/mpi/lock.hpp"

namespace refrain::adapters::mpi {

OwnCalls pmpi;
Constants constants;

namespace {

enum class State { Unknown, Good, Bad };
std::atomic<State> state{State::Unknown};
std::atomic<void*> library{nullptr};
Lock opening;

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

}  // namespace

bool open_library() {
  State now = state.load(std::memory_order_acquire);
  if (now != State::Unknown) return now == State::Good;
  Locked locked(opening);
  if (state.load(std::memory_order_relaxed) != State::Unknown)
    return state.load(std::memory_order_relaxed) == State::Good;
  if (!dlsym(RTLD_NEXT, "PMPI_Init")) {  // not in the global scope: loaded late and locally
    for (const char* const* name = library_names; *name; ++name) {
      if (void* handle = dlopen(*name, RTLD_LAZY | RTLD_NOLOAD)) {
        library.store(handle, std::memory_order_relaxed);
        break;
      }
    }
    dlerror();
  }
  bool good = true;
#define REFRAIN_FIND(name) good &= find(pmpi.name, "PMPI_" #name);
  REFRAIN_OWN_USES(REFRAIN_FIND)
#undef REFRAIN_FIND
  good &= find_constants(data_symbol);
  state.store(good ? State::Good : State::Bad, std::memory_order_release);
  return good;
}

void* next_function(const char* name) {
  open_library();
  if (name[0] == 'P') return own_symbol(name);
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  dlerror();
  char profiling[96] = "P";
  const std::size_t length = std::strlen(name);
  if (length + 2 > sizeof profiling) return nullptr;
  std::memcpy(profiling + 1, name, length + 1);
  return own_symbol(profiling);
}

}  // namespace refrain::adapters::mpi
