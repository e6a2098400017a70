// What functions of MPI are to a trace.
#include "offline/trace/functions.hpp"

#include <gtest/gtest.h>

namespace refrain::trace {
namespace {

TEST(FunctionsOfMpi, some_begin_and_end_the_job) {
  for (const char* name : {"MPI_Init", "PMPI_Init", "mpi_init", "MPI_Init_thread"})
    EXPECT_EQ(JobCall::Init, function_of_mpi(name).job_call) << name;
  EXPECT_EQ(JobCall::Finalize, function_of_mpi("MPI_Finalize").job_call);
  for (const char* name :
       {"MPI_Session_init", "MPI_Session_finalize", "MPI_Initialized", "MPI_Send_init", "MPI_Send", "init"})
    EXPECT_EQ(JobCall::None, function_of_mpi(name).job_call) << name;
}

TEST(FunctionsOfMpi, forms_do_what_the_blocking_one_does) {
  for (const char* name : {"MPI_Allreduce", "MPI_Iallreduce", "MPI_Allreduce_init", "MPI_Allreduce_c", "PMPI_ALLREDUCE",
                           "MPIX_Allreduce_init"}) {
    EXPECT_EQ(CallClass::Collective, function_of_mpi(name).call_class) << name;
    EXPECT_EQ(Exchange::AllToAll, function_of_mpi(name).exchange) << name;
    EXPECT_EQ(Role::AllToAll, function_of_mpi(name).role) << name;
  }
  EXPECT_EQ(CallClass::OneSided, function_of_mpi("MPI_Rput").call_class);
}

// The names were once looked at for "reduce" and "Gather".
TEST(FunctionsOfMpi, non_blocking_and_neighbourhood_collectives_have_their_role) {
  EXPECT_EQ(Role::AllToOne, function_of_mpi("MPI_Ireduce").role);
  EXPECT_EQ(Role::AllToOne, function_of_mpi("MPI_Igatherv").role);
  EXPECT_EQ(Role::OneToAll, function_of_mpi("MPI_Iscatter").role);
  EXPECT_EQ(Role::AllToAll, function_of_mpi("MPI_Iallgather").role);
  EXPECT_EQ(Role::CollectiveOther, function_of_mpi("MPI_Iexscan").role);
  for (const char* name : {"MPI_Neighbor_alltoall", "MPI_Ineighbor_allgatherv", "MPI_Neighbor_alltoallw_init"}) {
    EXPECT_EQ(CallClass::Collective, function_of_mpi(name).call_class) << name;
    EXPECT_EQ(Role::CollectiveOther, function_of_mpi(name).role) << name;
    EXPECT_EQ(Exchange::None, function_of_mpi(name).exchange) << name;
  }
}

TEST(FunctionsOfMpi, epochs_of_windows_have_steps) {
  EXPECT_EQ(WindowStep::Start, function_of_mpi("MPI_Win_start").window_step);
  EXPECT_EQ(WindowStep::Wait, function_of_mpi("MPI_Win_test").window_step);
  EXPECT_EQ(WindowStep::Unlock, function_of_mpi("MPI_Win_unlock").window_step);
  EXPECT_EQ(WindowStep::None, function_of_mpi("MPI_Win_unlock_all").window_step);
}

TEST(FunctionsOfMpi, waiting_that_no_event_tells_is_marked) {
  for (const char* name : {"MPI_Probe", "MPI_Iprobe", "MPI_Test", "MPI_Comm_dup", "MPI_Win_free", "MPI_File_open",
                           "MPI_File_write_at_all", "MPI_File_read_ordered_end", "MPI_Neighbor_alltoall"})
    EXPECT_TRUE(function_of_mpi(name).waits_untold) << name;
  for (const char* name : {"MPI_Recv", "MPI_Comm_idup", "MPI_Win_free_keyval", "MPI_File_iread_all", "MPI_File_read_at",
                           "MPI_Win_flush", "MPI_Comm_create_keyval", "MPI_Finalize", "MPI_Comm_free"})
    EXPECT_FALSE(function_of_mpi(name).waits_untold) << name;
}

TEST(FunctionsOfMpi, other_names_are_of_mpi_by_how_they_begin) {
  EXPECT_EQ(CallClass::OtherMpi, function_of_mpi("MPI_Quantum_send").call_class);
  EXPECT_EQ(CallClass::NotMpi, function_of_mpi("write").call_class);
  EXPECT_EQ(CallClass::NotMpi, function_of_mpi("MPIR_Send_impl").call_class);
}

}  // namespace
}  // namespace refrain::trace
