// What functions of MPI do is told by their names.
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
  for (const char* name :
       {"MPI_Allreduce", "MPI_Iallreduce", "MPI_Allreduce_init", "MPI_Allreduce_c", "PMPI_ALLREDUCE"}) {
    EXPECT_EQ(CallClass::Collective, function_of_mpi(name).call_class) << name;
    EXPECT_EQ(Exchange::AllToAll, function_of_mpi(name).exchange) << name;
  }
  EXPECT_EQ(CallClass::OneSided, function_of_mpi("MPI_Rput").call_class);
  EXPECT_EQ(CallClass::NotMpi, function_of_mpi("write").call_class);
}

}  // namespace
}  // namespace refrain::trace
