#pragma once
/// The MPI library of the process, which is found at the program's first MPI call.
///
/// The dynamic linker binds nothing here: the runtime is preloaded into processes that have no MPI, and some programs
/// load theirs late with RTLD_LOCAL, where neither a weak symbol nor RTLD_NEXT finds it. Such a library is recognised
/// by what it defines, whatever its name.
///
/// Thread safety: any thread may call the functions; what they fill in does not change afterwards. Not for handlers.

#include "adapters/mpi/mpi_header.hpp"
#include "platform/function_ref.hpp"
#include "platform/hot.hpp"

namespace refrain::adapters::mpi {

/// The functions that Refrain itself calls. They are always MPI's own (PMPI_...), neither our wrappers nor those of
/// another tool. Every MPI 3 library has them.
#define REFRAIN_OWN_USES(use)                                                                                          \
  use(Query_thread) use(Get_library_version) use(Initialized) use(Type_size_x) use(Get_elements_x) use(Test_cancelled) \
      use(Comm_size) use(Comm_rank) use(Comm_remote_size) use(Comm_test_inter) use(Comm_group) use(Comm_remote_group)  \
          use(Comm_idup) use(Comm_free) use(Comm_set_errhandler) use(Group_free) use(Group_translate_ranks)            \
              use(Topo_test) use(Cartdim_get) use(Cart_shift) use(Graph_neighbors_count)                               \
                  use(Dist_graph_neighbors_count) use(Isend) use(Improbe) use(Imrecv) use(Test) use(Cancel)            \
                      use(Request_free) use(Type_get_envelope)
/// Functions that came with MPI 4, and older ones that are called only with these. MPICH 3, Intel MPI and MVAPICH have
/// the interface of MPICH 4, but not its functions of MPI 4.
#if MPI_VERSION >= 4
#define REFRAIN_OWN_USES_OF_MPI_4(use)                                                                      \
  use(Type_get_envelope_c) use(Session_init) use(Session_finalize) use(Session_get_pset_info) use(Info_get) \
      use(Info_free)
#else
#define REFRAIN_OWN_USES_OF_MPI_4(use)
#endif

/// A function that the library lacks returns MPI_ERR_OTHER; one of the second list is null.
struct OwnCalls {
#define REFRAIN_MEMBER(name) decltype(&::PMPI_##name) name;
  REFRAIN_OWN_USES(REFRAIN_MEMBER)
  REFRAIN_OWN_USES_OF_MPI_4(REFRAIN_MEMBER)
#undef REFRAIN_MEMBER
};
REFRAIN_OF_THIS_LIBRARY extern OwnCalls pmpi;

/// Predefined handles. In Open MPI they are addresses of objects in the library, so using the names of mpi.h would
/// leave undefined symbols in the runtime. One file per MPI fills them in: constants_openmpi.cpp, constants_mpich.cpp.
struct Constants {
  MPI_Comm world, self, no_communicator;
  MPI_Datatype byte;
  MPI_Errhandler errors_return;
  MPI_Message no_message;  ///< MPI_MESSAGE_NO_PROC
  MPI_Op no_op;
  bool isendrecv_tells;               ///< MPI_Isendrecv's request has the status of its receive
  MPI_Request empty_request;          ///< handle shared by requests that complete immediately, or MPI_REQUEST_NULL
  bool channels_are_claimed = false;  ///< set by start_numbering(); here to share the cache line
};
REFRAIN_OF_THIS_LIBRARY extern Constants constants;

/// How file names of the library begin; null-terminated.
extern const char* const library_names[];
/// How file names of its Fortran libraries begin; null-terminated.
extern const char* const fortran_library_names[];
/// Names under which the Fortran libraries may be loaded; null-terminated.
extern const char* const fortran_library_sonames[];
/// Fills in `constants`; `symbol` finds a data symbol of the library by its name. False: the library is another MPI.
using FindSymbol = platform::FunctionRef<void*(const char*)>;
bool find_constants(Constants& constants, FindSymbol symbol);

/// Finds the library and all of the above. False: the process has no MPI yet, or one that this adapter is not for,
/// whose calls are passed through.
bool open_library();

/// Whether `code` is part of the library that open_library() has found. Changes neither errno nor dlerror().
bool is_in_library(const void* code);

/// The next definition of a function after ours: for "MPI_Send" that of another tool or MPI's own, for "PMPI_Send"
/// MPI's own. Null: there is none.
void* next_function(const char* name);

}  // namespace refrain::adapters::mpi
