#include "adapters/mpi/library.hpp"

#include <atomic>
#include <climits>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

#include "adapters/mpi/calls/fortran_symbols.hpp"
#include "adapters/mpi/lock.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/modules.hpp"
#include "platform/pages.hpp"
#include "platform/symbols.hpp"
#include "regions.hpp"

namespace refrain::adapters::mpi {

OwnCalls pmpi;
Constants constants;

namespace {

enum class State { Unknown, Good, Bad };
std::atomic<State> state{State::Unknown};
std::atomic<void*> library{nullptr};
Lock publishing;

int unavailable() { return MPI_ERR_OTHER; }

/// A failed look-up must not show up in the program's own dlerror().
void* quietly(void* found) {
  if (!found) dlerror();
  return found;
}

/// `handle`: a library that was loaded locally, or null.
void* symbol_of(void* handle, const char* name) {
  if (void* found = platform::find_symbol(RTLD_NEXT, name)) return found;
  return quietly(handle ? platform::find_symbol(handle, name) : nullptr);
}
void* own_symbol(const char* name) { return symbol_of(library.load(std::memory_order_relaxed), name); }

/// A process without MPI may have functions of these names in a stand-in for MPI on a single process. Its library may
/// be loaded with RTLD_LOCAL: without Refrain in the global scope, calls from that library would find these functions.
void* in_some_module(const char* name) {
  Dl_info own{};
  if (!dladdr(&pmpi, &own)) return nullptr;
  platform::refresh_modules();
  platform::Module module;
  for (std::size_t i = 0; platform::copy_module(i, module); ++i) {
    if (!module.mapped) continue;
    void* handle = dlopen(module.path, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) continue;
    void* found = platform::find_symbol(handle, name);
    dlclose(handle);  // the program's own handle keeps it loaded
    Dl_info info{};
    if (found && dladdr(found, &info) && info.dli_fbase != own.dli_fbase) return found;
  }
  return quietly(nullptr);
}

/// What one library defines. It is published when it is complete. No lock is held meanwhile: the look-ups take the
/// loader's locks, and a thread may come here from a library's constructor, holding these.
class FoundLibrary {
 public:
  OwnCalls calls{};
  Constants values{};

  /// `handle`: null for the global scope.
  explicit FoundLibrary(void* handle) : handle_(handle) {}

  void* handle() const { return handle_; }

  /// False: a function or a constant is missing, so this is not an MPI that the adapter is for.
  bool find() {
    bool good = true;
#define REFRAIN_FIND(name) good &= find(calls.name, "PMPI_" #name, reinterpret_cast<void*>(&unavailable));
    REFRAIN_OWN_USES(REFRAIN_FIND)
#undef REFRAIN_FIND
#define REFRAIN_FIND(name) (void)find(calls.name, "PMPI_" #name, nullptr);
    REFRAIN_OWN_USES_OF_MPI_4(REFRAIN_FIND)
#undef REFRAIN_FIND
    return good & find_constants(values, [this](const char* name) { return data(name); });
  }

 private:
  template <class Function>
  bool find(Function& function, const char* name, void* otherwise) const {
    void* found = symbol_of(handle_, name);
    function = reinterpret_cast<Function>(found ? found : otherwise);
    return found;
  }
  /// Data may have been copied into the executable (copy relocation), so the global scope is searched first.
  void* data(const char* name) const {
    if (void* found = platform::find_symbol(RTLD_DEFAULT, name)) return found;
    return quietly(handle_ ? platform::find_symbol(handle_, name) : nullptr);
  }

  void* handle_;
};

/// The MPI libraries that the program has loaded itself: objects other than this one that define PMPI_Init. A stand-in
/// for MPI on a single process seldom does.
struct LoadedLibraries {
  static constexpr unsigned most = 4;
  char paths[most][PATH_MAX];
  unsigned count;
  platform::LoadedObject own;

  static int visit(dl_phdr_info* info, std::size_t, void* data) {
    auto& all = *static_cast<LoadedLibraries*>(data);
    const platform::LoadedObject object = platform::object_of(*info);
    if (!info->dlpi_name[0] || object.dynamic == all.own.dynamic || std::strlen(info->dlpi_name) >= PATH_MAX ||
        !platform::function_of(object, "PMPI_Init"))
      return 0;
    std::memcpy(all.paths[all.count], info->dlpi_name, std::strlen(info->dlpi_name) + 1);
    return ++all.count == most;
  }
};

void publish(const FoundLibrary& found, State what) {
  Locked locked(publishing);
  if (state.load(std::memory_order_relaxed) != State::Unknown) return;
  pmpi = found.calls;
  constants = found.values;
  library.store(found.handle(), std::memory_order_relaxed);
  if (what == State::Bad) {
    // Handles are pointers in Open MPI and integers in MPICH. Both are passed in a register, of which the callee reads
    // its part.
    measurement::calls_pass_through.store(true);
    measurement::calls_have_extras.store(true);
  }
  state.store(what, std::memory_order_release);
}

void look_at_loaded_libraries() {
  auto* loaded = platform::make_on_pages<LoadedLibraries>();  // too large for a small stack
  if (!loaded) return;
  loaded->own = platform::own_object();
  dl_iterate_phdr(LoadedLibraries::visit, loaded);
  void* foreign = nullptr;
  for (unsigned i = 0; i < loaded->count && state.load(std::memory_order_relaxed) == State::Unknown; ++i) {
    void* handle = dlopen(loaded->paths[i], RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) continue;
    if (FoundLibrary found(handle); found.find()) publish(found, State::Good);
    else foreign = handle;
  }
  if (foreign) {
    FoundLibrary found(foreign);
    (void)found.find();
    publish(found, State::Bad);  // does nothing if a good one was published
  }
  platform::unmake_on_pages(loaded);
}

}  // namespace

bool open_library() {
  const State now = state.load(std::memory_order_acquire);
  if (now != State::Unknown) return now == State::Good;
  measurement::mpi_region_names = {region_names, region_count};
  measurement::mpi_regions_in_order = {regions_in_order, region_count};
  measurement::mpi_regions_waited_in = {regions_waited_in, region_count};
  if (quietly(platform::find_symbol(RTLD_NEXT, "PMPI_Init"))) {
    FoundLibrary found(nullptr);
    publish(found, found.find() ? State::Good : State::Bad);
  } else {
    look_at_loaded_libraries();
  }
  return state.load(std::memory_order_acquire) == State::Good;
}

bool is_in_library(const void* code) {
  Dl_info of_code{}, of_library{};
  return open_library() && dladdr(code, &of_code) && dladdr(reinterpret_cast<void*>(pmpi.Initialized), &of_library) &&
         of_code.dli_fbase == of_library.dli_fbase;
}

void* next_fortran_function(const char* name) {
  if (void* found = platform::find_symbol(RTLD_NEXT, name)) return found;
  void* found = nullptr;
  for (const char* const* library = fortran_library_sonames; *library && !found; ++library) {
    if (void* handle = dlopen(*library, RTLD_LAZY | RTLD_NOLOAD)) {
      found = platform::find_symbol(handle, name);
      dlclose(handle);  // the program's own handle keeps it loaded
    }
  }
  return found ? found : in_some_module(name);
}

void* next_function(const char* name) {
  const bool good = open_library();
  void* found = name[0] == 'P' ? own_symbol(name) : quietly(platform::find_symbol(RTLD_NEXT, name));
  char profiling[96] = "P";
  if (!found && name[0] != 'P' && std::strlen(name) + 2 <= sizeof profiling) {
    std::memcpy(profiling + 1, name, std::strlen(name) + 1);
    found = own_symbol(profiling);
  }
  return found || good ? found : in_some_module(name);
}

}  // namespace refrain::adapters::mpi
