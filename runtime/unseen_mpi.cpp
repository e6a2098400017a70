#include "runtime/unseen_mpi.hpp"

#include <dlfcn.h>
#include <link.h>

#include "config/text.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/message.hpp"
#include "platform/symbols.hpp"
#include "record/run_notes.hpp"

namespace refrain::runtime {
namespace {

using platform::say;

using IsInitialized = int(int* flag);

/// What glibc publishes for debuggers, once for each namespace of dlmopen().
struct NamespaceOfLoader {
  r_debug objects;
  const NamespaceOfLoader* next;  ///< since version 2
};

struct LoadedMpi {
  static constexpr unsigned most = 8;
  IsInitialized* is_initialized[most];
  unsigned count;
};

void add(LoadedMpi& loaded, const platform::LoadedObject& object) {
  void* found =
      platform::function_of(object, "PMPI_Init") ? platform::function_of(object, "PMPI_Initialized") : nullptr;
  if (found && loaded.count < LoadedMpi::most)
    loaded.is_initialized[loaded.count++] = reinterpret_cast<IsInitialized*>(found);
}

/// Is called once, for the lock that dl_iterate_phdr holds meanwhile: it keeps all namespaces unchanged.
int visit(dl_phdr_info*, std::size_t, void* data) {
  const platform::LoadedObject own = platform::own_object();
  const auto* space = reinterpret_cast<const NamespaceOfLoader*>(&_r_debug);
  while (space) {
    for (const link_map* map = space->objects.r_map; map; map = map->l_next)
      if (map->l_ld != own.dynamic) add(*static_cast<LoadedMpi*>(data), platform::object_of(*map));
    space = space->objects.r_version > 1 ? space->next : nullptr;
  }
  return 1;
}

LoadedMpi loaded_mpi() {
  LoadedMpi loaded{};
  dl_iterate_phdr(visit, &loaded);
  return loaded;
}

/// MPI allows MPI_Initialized at any time, even after MPI_Finalize.
bool an_mpi_was_initialized() {
  const LoadedMpi loaded = loaded_mpi();
  for (unsigned i = 0; i < loaded.count; ++i) {
    int flag = 0;
    if (loaded.is_initialized[i](&flag) == 0 && flag) return true;
  }
  return false;
}

}  // namespace

bool mpi_is_in_a_namespace() { return loaded_mpi().count > 0; }

bool tell_unseen_mpi() {
  // The user chose the runtime without MPI, or nothing indicated that the program uses MPI.
  if (!platform::function_of(platform::own_object(), "MPI_Init")) return false;
  if (!an_mpi_was_initialized()) return false;
  if (record::rank_by_environment() > 0) return true;
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(&tell_unseen_mpi), &self);
  if (measurement::calls_pass_through.load())
    say("no MPI call is recorded: the program's MPI is not the one that %s is for; 'refrain run --library' chooses "
        "another",
        self.dli_fname ? config::file_name_of(self.dli_fname).data() : "this runtime");
  else
    say("no MPI call is recorded: MPI was called past Refrain (its library was loaded with RTLD_DEEPBIND or dlmopen, "
        "is linked statically, or is called by PMPI_ names)");
  record::note_said();
  return true;
}

}  // namespace refrain::runtime
