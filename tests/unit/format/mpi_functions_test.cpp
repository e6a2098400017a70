// The table of MPI functions against the lists of the MPI standard, version 4.1, by its chapters.
#include "format/mpi_functions.hpp"

#include <algorithm>
#include <cctype>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "waits/kinds.hpp"

namespace refrain::format {
namespace {

using enum MpiClass;

const MpiFunction& row_of(const std::string& name) {
  const MpiFunction* row = find_mpi_function(name);
  EXPECT_NE(nullptr, row) << name;
  static constexpr MpiFunction none{"", MpiClass::unwrapped, MpiForm::Blocking, MpiWaits::nobody, ""};
  return row ? *row : none;
}

/// `names` are names without MPI_, separated by spaces.
void expect_all(const std::string& names, MpiClass of, MpiForm form, bool may_wait) {
  std::istringstream words(names);
  for (std::string word; words >> word;) {
    const MpiFunction& row = row_of("MPI_" + word);
    EXPECT_STREQ(name_of(of), name_of(row.of)) << word;
    EXPECT_EQ(form, row.form) << word;
    EXPECT_EQ(may_wait, row.waits != MpiWaits::nobody) << word;
  }
}

TEST(MpiFunctions, point_to_point_is_that_of_chapter_3) {
  expect_all("Send Ssend", send, MpiForm::Blocking, true);
  expect_all("Bsend Rsend", send, MpiForm::Blocking, false);
  expect_all("Isend Ibsend Issend Irsend", send, MpiForm::NonBlocking, false);
  expect_all("Recv Mrecv", receive, MpiForm::Blocking, true);
  expect_all("Irecv Imrecv", receive, MpiForm::NonBlocking, false);
  expect_all("Sendrecv Sendrecv_replace", sendrecv, MpiForm::Blocking, true);
  expect_all("Isendrecv Isendrecv_replace", sendrecv, MpiForm::NonBlocking, false);
  expect_all("Probe Mprobe Iprobe Improbe", probe, MpiForm::Blocking, true);
  expect_all("Wait Waitany Waitall Waitsome", MpiClass::wait, MpiForm::Blocking, true);
  expect_all("Test Testany Testall Testsome Request_get_status", test, MpiForm::Blocking, true);
  expect_all("Send_init Bsend_init Ssend_init Rsend_init Recv_init", request, MpiForm::Persistent, false);
  expect_all("Start Startall", request_start, MpiForm::Blocking, false);
  expect_all("Cancel Request_free", request, MpiForm::Blocking, false);
}

TEST(MpiFunctions, partitioned_communication_is_that_of_chapter_4) {
  expect_all("Psend_init Precv_init", request, MpiForm::Persistent, false);
  expect_all("Pready Pready_range Pready_list", request, MpiForm::Blocking, false);
  expect_all("Parrived", test, MpiForm::Blocking, true);
}

/// Each in its blocking, its non-blocking (6.12) and its persistent (6.13) form.
TEST(MpiFunctions, collective_operations_are_those_of_chapter_6_in_three_forms) {
  const std::map<MpiClass, std::string> operations = {
      {barrier, "barrier"},
      {collective_1xn, "bcast scatter scatterv"},
      {collective_nx1, "gather gatherv reduce"},
      {collective_nxn,
       "allgather allgatherv alltoall alltoallv alltoallw allreduce reduce_scatter reduce_scatter_block"},
      {collective_scan, "scan exscan"}};
  std::size_t known = 0;
  for (const auto& [of, names] : operations) {
    std::istringstream words(names);
    for (std::string word; words >> word; ++known) {
      std::string begin = word;
      begin[0] = static_cast<char>(std::toupper(begin[0]));
      expect_all(begin, of, MpiForm::Blocking, true);
      expect_all("I" + word, of, MpiForm::NonBlocking, false);
      expect_all(begin + "_init", of, MpiForm::Persistent, true);
    }
  }
  EXPECT_EQ(17U, known);
  expect_all("Reduce_local", local, MpiForm::Blocking, false);
}

TEST(MpiFunctions, neighbourhood_collectives_are_those_of_chapter_8) {
  for (const std::string word : {"allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"}) {
    expect_all("Neighbor_" + word, collective_neighbor, MpiForm::Blocking, true);
    expect_all("Ineighbor_" + word, collective_neighbor, MpiForm::NonBlocking, false);
    expect_all("Neighbor_" + word + "_init", collective_neighbor, MpiForm::Persistent, true);
  }
}

/// No other functions have these classes than those of the lists above.
TEST(MpiFunctions, nothing_else_is_collective) {
  std::set<std::string_view> names;
  for (const MpiFunction& row : mpi_functions())
    if (is_collective(row.of) && !row.name.ends_with("_c") && row.name.starts_with("MPI_")) names.insert(row.name);
  EXPECT_EQ(3U * (17 + 5), names.size());
}

TEST(MpiFunctions, making_communicators_is_that_of_chapters_7_8_and_11) {
  expect_all(
      "Comm_dup Comm_dup_with_info Comm_create Comm_create_group Comm_create_from_group Comm_split Comm_split_type "
      "Intercomm_create Intercomm_create_from_groups Intercomm_merge Cart_create Cart_sub Graph_create "
      "Dist_graph_create Dist_graph_create_adjacent Comm_accept Comm_connect Comm_disconnect Comm_join Comm_spawn "
      "Comm_spawn_multiple",
      communicator, MpiForm::Blocking, true);
  expect_all("Comm_idup Comm_idup_with_info", communicator, MpiForm::NonBlocking, false);
  expect_all("Comm_rank Comm_size Comm_compare Cart_coords Cart_shift", local, MpiForm::Blocking, false);
}

TEST(MpiFunctions, beginning_and_ending_is_that_of_chapter_11) {
  expect_all("Init Init_thread", init, MpiForm::Blocking, true);
  expect_all("Session_init", init, MpiForm::Blocking, false);
  expect_all("Finalize Session_finalize", finalize, MpiForm::Blocking, true);
  expect_all("Initialized Finalized", local, MpiForm::Blocking, false);
}

TEST(MpiFunctions, one_sided_communication_is_that_of_chapter_12) {
  expect_all("Put Get Accumulate Get_accumulate Fetch_and_op Compare_and_swap", rma, MpiForm::Blocking, false);
  expect_all("Rput Rget Raccumulate Rget_accumulate", rma, MpiForm::NonBlocking, false);
  expect_all(
      "Win_fence Win_start Win_complete Win_wait Win_test Win_lock Win_lock_all Win_unlock Win_unlock_all Win_flush "
      "Win_flush_all Win_flush_local Win_flush_local_all",
      rma_sync, MpiForm::Blocking, true);
  expect_all("Win_post Win_sync", rma_sync, MpiForm::Blocking, false);
  expect_all("Win_create Win_allocate Win_allocate_shared Win_create_dynamic Win_free", window, MpiForm::Blocking,
             true);
  expect_all("Win_attach Win_detach Win_free_keyval Win_create_keyval", window, MpiForm::Blocking, false);
}

/// There are 24 ways to access data (14.4). In those that all processes of the file use together they wait for each
/// other.
TEST(MpiFunctions, files_are_those_of_chapter_14) {
  expect_all(
      "File_open File_close File_set_size File_preallocate File_set_info File_set_view File_seek_shared "
      "File_set_atomicity File_sync",
      file, MpiForm::Blocking, true);
  expect_all("File_delete File_get_size File_seek File_get_view", file, MpiForm::Blocking, false);
  for (const std::string way : {"read", "write"}) {
    for (const std::string where : {"", "_at", "_shared"}) {
      expect_all("File_" + way + where, file_io, MpiForm::Blocking, false);
      expect_all("File_i" + way + where, file_io, MpiForm::NonBlocking, false);
    }
    for (const std::string where : {"_all", "_at_all"}) {
      expect_all("File_" + way + where, file_io_all, MpiForm::Blocking, true);
      expect_all("File_i" + way + where, file_io_all, MpiForm::NonBlocking, false);
    }
    for (const std::string where :
         {"_ordered", "_all_begin", "_all_end", "_at_all_begin", "_at_all_end", "_ordered_begin", "_ordered_end"})
      expect_all("File_" + way + where, file_io_all, MpiForm::Blocking, true);
  }
}

TEST(MpiFunctions, forms_of_an_operation_have_one_effect) {
  for (const char* name : {"MPI_Ireduce_scatter_block", "MPI_Reduce_scatter_block_init", "MPI_Reduce_scatter_block_c"})
    EXPECT_EQ(row_of("MPI_Reduce_scatter_block").effect, row_of(name).effect) << name;
}

TEST(MpiFunctions, names_of_other_languages_and_tools_are_known) {
  for (const char* name : {"MPI_Iallreduce", "PMPI_Iallreduce", "mpi_iallreduce", "mpi_iallreduce_", "MPI_IALLREDUCE",
                           "pmpi_iallreduce__"})
    EXPECT_EQ("MPI_Iallreduce", row_of(name).name) << name;
  EXPECT_EQ("MPI_Iallreduce_c", row_of("MPI_Iallreduce_c").name);
  for (const char* name :
       {"", "p", "write", "MPI_", "MPI_Iallreduc", "MPI_Iallreduced", "Iallreduce", "MPI_T_init_thread"})
    EXPECT_EQ(nullptr, find_mpi_function(name)) << name;
  for (const char* name : {"MPI_Quantum_send", "pmpi_x", "MPIX_Comm_failure"}) EXPECT_TRUE(is_mpi_name(name)) << name;
  for (const char* name : {"", "P", "MPIR_Send", "mpirun", "write"}) EXPECT_FALSE(is_mpi_name(name)) << name;
}

TEST(MpiFunctions, what_is_not_wrapped_has_a_reason) {
  for (const MpiFunction& row : mpi_functions())
    EXPECT_EQ(row.of == unwrapped, !text_of_reason(row.effect).empty()) << row.name;
}

TEST(MpiFunctions, waiting_that_durations_tell_has_a_kind) {
  for (const MpiFunction& row : mpi_functions())
    EXPECT_EQ(row.waits >= MpiWaits::receive, !waits::kinds_of(row.name).empty()) << row.name;
}

}  // namespace
}  // namespace refrain::format
