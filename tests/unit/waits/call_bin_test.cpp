// Calls of one class take about the same time when nobody waits.

#include "waits/call_bin.hpp"

#include <gtest/gtest.h>
#include <limits>

#include "waits/kinds.hpp"

namespace refrain::waits {
namespace {

unsigned size_of(std::int64_t bytes) { return CallBin(Transfer{.bytes = bytes}).size(); }
unsigned processes_of(std::int32_t number) { return CallBin(Transfer{.what = Transfer::among(number)}).processes(); }

TEST(CallBin, sizes_double) {
  EXPECT_EQ(0u, size_of(0));
  EXPECT_EQ(0u, size_of(-5));
  EXPECT_EQ(1u, size_of(1));
  EXPECT_EQ(2u, size_of(2));
  EXPECT_EQ(2u, size_of(3));
  EXPECT_EQ(3u, size_of(4));
  EXPECT_EQ(11u, size_of(1024));
  EXPECT_EQ(63u, size_of(std::numeric_limits<std::int64_t>::max()));
  for (const std::int64_t bytes : {0, 1, 2, 3, 1000, 1 << 20}) {
    const CallBin bin(Transfer{.bytes = bytes});
    EXPECT_LE(bytes, bin.max_bytes());
    EXPECT_GE(bytes, bin.max_bytes() / 2);
  }
}

TEST(CallBin, numbers_of_processes_double) {
  EXPECT_EQ(0u, processes_of(0));
  EXPECT_EQ(1u, processes_of(1));
  EXPECT_EQ(2u, processes_of(2));
  EXPECT_EQ(3u, processes_of(3));
  EXPECT_EQ(3u, processes_of(4));
  EXPECT_EQ(4u, processes_of(5));
  EXPECT_EQ(32u, processes_of(std::numeric_limits<std::int32_t>::max()));
}

TEST(CallBin, directions_tell_roots_from_others) {
  const CallBin root(Transfer{.bytes = 8, .what = Transfer::among(4) | Transfer::sends | Transfer::receives});
  const CallBin other(Transfer{.bytes = 8, .what = Transfer::among(4) | Transfer::receives});
  EXPECT_NE(root, other);
  EXPECT_TRUE(root.sends() && root.receives() && !other.sends() && other.receives());
  EXPECT_EQ(other, CallBin::from(other.code()));
  EXPECT_EQ(nullptr, kind_of("MPI_Bcast", root));
  EXPECT_STREQ("late_broadcast", kind_of("MPI_Bcast", other)->name);
}

TEST(WaitKinds, have_the_same_name_for_large_counts) {
  const CallBin small(Transfer{.bytes = 4095, .what = Transfer::sends});
  EXPECT_STREQ("late_receiver", kind_of("MPI_Ssend", small)->name);
  EXPECT_STREQ("late_receiver", kind_of("MPI_Ssend_c", small)->name);
}

TEST(WaitKinds, large_messages_make_calls_long) {
  const auto of = [](const char* name, std::int64_t bytes, std::uint64_t what) {
    const CallBin moved(Transfer{.bytes = bytes, .what = what});
    return kind_of(name, moved)->long_by_of(moved);
  };
  EXPECT_EQ(LongBy::waiting, of("MPI_Recv", 4095, Transfer::receives));
  EXPECT_EQ(LongBy::data, of("MPI_Recv", 4096, Transfer::receives));
  EXPECT_EQ(LongBy::data, of("MPI_Send", 8, Transfer::sends));
  EXPECT_EQ(LongBy::waiting, of("MPI_Allreduce", 1 << 20, Transfer::among(4)));
  EXPECT_EQ(LongBy::data, of("MPI_Win_fence", 0, Transfer::among(4)));
}

TEST(WaitKinds, tests_that_have_found_nothing_poll) {
  const CallBin nothing(Transfer{}), received(Transfer{.bytes = 8, .what = Transfer::receives});
  for (const char* name : {"MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Iprobe"}) {
    ASSERT_NE(nullptr, kind_of(name, nothing)) << name;
    EXPECT_EQ(LongBy::polling, kind_of(name, nothing)->long_by_of(nothing)) << name;
    EXPECT_EQ(nullptr, kind_of(name, received)) << name;
  }
}

TEST(WaitKinds, of_an_operation_of_all_the_last_one_does_not_wait) {
  const CallBin of_all(Transfer{.bytes = 8, .what = Transfer::among(4) | Transfer::receives});
  EXPECT_TRUE(kind_of("MPI_Allreduce", of_all)->has_one_without_waiting());
  EXPECT_FALSE(kind_of("MPI_Bcast", of_all)->has_one_without_waiting());
  EXPECT_FALSE(kind_of("MPI_Reduce", of_all)->has_one_without_waiting());
  EXPECT_FALSE(kind_of("MPI_Recv", of_all)->has_one_without_waiting());
}

TEST(WaitKinds, calls_that_begin_an_operation_do_not_wait) {
  const CallBin any(Transfer{.bytes = 1 << 20, .what = Transfer::sends | Transfer::receives});
  for (const char* name :
       {"MPI_Isend", "MPI_Irecv", "MPI_Iallreduce", "MPI_Barrier_init", "MPI_Test", "MPI_Comm_rank", ""})
    EXPECT_EQ(nullptr, kind_of(name, any)) << name;
}

TEST(WaitKinds, what_a_request_was_for_tells_what_is_waited_for) {
  EXPECT_STREQ("late_sender", kind_of("MPI_Waitall", CallBin(Transfer{.what = Transfer::receives}))->name);
  EXPECT_STREQ(
      "late_sender",
      kind_of("MPI_Waitall", CallBin(Transfer{.bytes = 1 << 20, .what = Transfer::sends | Transfer::receives}))->name);
  EXPECT_STREQ("late_receiver",
               kind_of("MPI_Waitall", CallBin(Transfer{.bytes = 1 << 20, .what = Transfer::sends}))->name);
  EXPECT_STREQ("wait_at_nxn", kind_of("MPI_Wait", CallBin(Transfer{.what = Transfer::among(1)}))->name);
  EXPECT_STREQ("late_receiver", kind_of("MPI_Waitall", CallBin(Transfer{.bytes = 8, .what = Transfer::sends}))->name);
  EXPECT_EQ(nullptr, kind_of("MPI_Waitall", CallBin(Transfer{})));
}

}  // namespace
}  // namespace refrain::waits
