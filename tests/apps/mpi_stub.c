/* An MPI library of one process with the interface of MPICH, as it was in version 3: it has the functions that Refrain
 * asks for, those that its program calls, and none of MPI 4. MPICH 3, Intel MPI and MVAPICH look like this to a runtime
 * that was built with the header of MPICH 4.
 */
#include <mpi.h>
#include <string.h>

#define FUNCTION(name, parameters, ...)   \
  int PMPI_##name parameters __VA_ARGS__; \
  int MPI_##name parameters __attribute__((weak, alias("PMPI_" #name)));
#define SUCCEEDS(name, parameters) FUNCTION(name, parameters, { return MPI_SUCCESS; })

#pragma GCC diagnostic ignored "-Wunused-parameter"

int* const MPI_UNWEIGHTED = 0; /* data that every MPICH has */
static int is_initialized, is_finalized;

FUNCTION(Init, (int* argc, char*** argv), { return is_initialized = 1, MPI_SUCCESS; })
FUNCTION(Finalize, (void), { return is_finalized = 1, MPI_SUCCESS; })
FUNCTION(Initialized, (int* flag), { return *flag = is_initialized, MPI_SUCCESS; })
FUNCTION(Finalized, (int* flag), { return *flag = is_finalized, MPI_SUCCESS; })
FUNCTION(Query_thread, (int* provided), { return *provided = MPI_THREAD_SINGLE, MPI_SUCCESS; })
FUNCTION(Get_library_version, (char* version, int* length),
         { return *length = (int)strlen(strcpy(version, "a stub of MPICH 3")), MPI_SUCCESS; })
FUNCTION(Comm_rank, (MPI_Comm comm, int* rank), { return *rank = 0, MPI_SUCCESS; })
FUNCTION(Comm_size, (MPI_Comm comm, int* size), { return *size = 1, MPI_SUCCESS; })
FUNCTION(Comm_test_inter, (MPI_Comm comm, int* flag), { return *flag = 0, MPI_SUCCESS; })
FUNCTION(Comm_group, (MPI_Comm comm, MPI_Group* group), { return *group = 0x48000000, MPI_SUCCESS; })
FUNCTION(Group_size, (MPI_Group group, int* size), { return *size = 1, MPI_SUCCESS; })
FUNCTION(Group_translate_ranks, (MPI_Group from, int count, const int ranks[], MPI_Group to, int found[]), {
  for (int i = 0; i < count; ++i) found[i] = ranks[i];
  return MPI_SUCCESS;
})
FUNCTION(Topo_test, (MPI_Comm comm, int* kind), { return *kind = MPI_UNDEFINED, MPI_SUCCESS; })
FUNCTION(Type_size_x, (MPI_Datatype type, MPI_Count* size), { return *size = 8, MPI_SUCCESS; })
FUNCTION(Type_get_envelope, (MPI_Datatype type, int* integers, int* addresses, int* types, int* combiner), {
  *integers = *addresses = *types = 0;
  return *combiner = MPI_COMBINER_NAMED, MPI_SUCCESS;
})
FUNCTION(Allreduce, (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
         { return memcpy(out, in, 8 * (size_t)count), MPI_SUCCESS; })
SUCCEEDS(Get_elements_x, (const MPI_Status* status, MPI_Datatype type, MPI_Count* count))
SUCCEEDS(Test_cancelled, (const MPI_Status* status, int* flag))
SUCCEEDS(Comm_remote_size, (MPI_Comm comm, int* size))
SUCCEEDS(Comm_remote_group, (MPI_Comm comm, MPI_Group* group))
SUCCEEDS(Comm_idup, (MPI_Comm comm, MPI_Comm* copy, MPI_Request* request))
SUCCEEDS(Comm_free, (MPI_Comm * comm))
SUCCEEDS(Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler))
SUCCEEDS(Group_free, (MPI_Group * group))
SUCCEEDS(Cartdim_get, (MPI_Comm comm, int* dimensions))
SUCCEEDS(Cart_shift, (MPI_Comm comm, int direction, int by, int* source, int* destination))
SUCCEEDS(Graph_neighbors_count, (MPI_Comm comm, int rank, int* count))
SUCCEEDS(Dist_graph_neighbors_count, (MPI_Comm comm, int* in, int* out, int* is_weighted))
SUCCEEDS(Isend, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request))
SUCCEEDS(Improbe, (int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status))
SUCCEEDS(Imrecv, (void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request))
SUCCEEDS(Test, (MPI_Request * request, int* flag, MPI_Status* status))
SUCCEEDS(Cancel, (MPI_Request * request))
SUCCEEDS(Request_free, (MPI_Request * request))
