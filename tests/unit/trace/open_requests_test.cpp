// Requests that a program frees stay open for ever in its trace; what is known of the others must not go with them.

#include "offline/trace/open_requests.hpp"

#include <gtest/gtest.h>
#include <otf2/otf2.h>
#include <random>
#include <unistd.h>
#include <unordered_map>

#include "offline/patterns/search.hpp"
#include "offline/trace/trace.hpp"
#include "unit/trace/archive_writer.hpp"

namespace refrain::trace {
namespace {

using Ages = std::unordered_map<std::uint64_t, std::int64_t>;

TEST(OpenRequests, the_older_half_is_forgotten) {
  Ages ages;
  for (std::uint64_t i = 0; i < 101; ++i) ages[i] = static_cast<std::int64_t>(1000 + i);
  std::int64_t youngest_forgotten = 0;
  std::size_t forgotten = 0;
  forget_older_half(
      ages, [](const auto& item) { return item.second; },
      [&](const auto& item) {
        ++forgotten;
        youngest_forgotten = std::max(youngest_forgotten, item.second);
      });
  EXPECT_EQ(50u, forgotten);
  EXPECT_EQ(51u, ages.size());
  EXPECT_EQ(1049, youngest_forgotten);
}

TEST(OpenRequests, half_of_those_of_one_age_are_forgotten) {
  Ages ages;
  for (std::uint64_t i = 0; i < 10; ++i) ages[i] = 7;
  forget_older_half(
      ages, [](const auto& item) { return item.second; }, [](const auto&) {});
  EXPECT_EQ(5u, ages.size());
}

TEST(OpenRequests, a_large_trace_may_have_more) {
  EXPECT_EQ(std::size_t{1} << 20, most_open_requests(8));
  EXPECT_EQ(std::size_t{1} << 22, most_open_requests(1024));
}

/// Numbers of which many fall on one place of the table, in a random order, against a map.
TEST(OpenRequests, the_table_has_what_a_map_has) {
  std::unordered_map<std::uint64_t, int> map;
  RequestTable<int> table;
  std::mt19937 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t number = random() % 64 * 4096 + random() % 16;
    if (random() % 2 == 0) {
      table.open(number) = map[number] = i;
    } else {
      table.close(number);
      map.erase(number);
    }
    ASSERT_EQ(map.size(), table.size());
    const int* found = table.find(number);
    ASSERT_EQ(map.contains(number), found != nullptr);
    if (i % 1000 != 0) continue;
    for (const auto& [key, value] : map) {
      ASSERT_TRUE(table.find(key));
      ASSERT_EQ(value, *table.find(key));
    }
  }
}

TEST(OpenRequests, the_older_half_of_a_table_is_forgotten) {
  RequestTable<std::int64_t> ages;
  for (std::uint64_t i = 0; i < 101; ++i) ages.open(i * 64) = static_cast<std::int64_t>(1000 + i);
  std::size_t forgotten = 0;
  forget_older_half(
      ages, [](const auto& item) { return item.second; }, [&](const auto&) { ++forgotten; });
  EXPECT_EQ(50u, forgotten);
  EXPECT_EQ(51u, ages.size());
  EXPECT_EQ(nullptr, ages.find(std::uint64_t{49} * 64));
  ASSERT_NE(nullptr, ages.find(std::uint64_t{50} * 64));
  EXPECT_EQ(1050, *ages.find(std::uint64_t{50} * 64));
}

/// Rank 0 begins sends whose requests it frees, then one that it waits for in vain until the receiver comes.
class FreedRequests : public testing::Test {
 protected:
  static constexpr std::uint64_t freed = 1000;
  FreedRequests() : directory_(testing::TempDir() + "open-requests-" + std::to_string(getpid())) {
    enum : OTF2_RegionRef { isend, wait, irecv, recv };
    ArchiveWriter archive(directory_);
    archive.events(0, [](OTF2_EvtWriter* writer) {
      OTF2_TimeStamp t = 0;
      for (std::uint64_t request = 0; request <= freed; ++request) {
        OTF2_EvtWriter_Enter(writer, nullptr, t++, isend);
        OTF2_EvtWriter_MpiIsend(writer, nullptr, t++, 1, 100, 3, 8, request);
        OTF2_EvtWriter_Leave(writer, nullptr, t++, isend);
      }
      OTF2_EvtWriter_Enter(writer, nullptr, 5000, wait);
      OTF2_EvtWriter_MpiIsendComplete(writer, nullptr, 9000, freed);
      OTF2_EvtWriter_Leave(writer, nullptr, 9001, wait);
    });
    archive.events(1, [](OTF2_EvtWriter* writer) {
      for (std::uint64_t i = 0; i <= freed; ++i) {
        const OTF2_TimeStamp t = i < freed ? 3500 + i : 8000;
        OTF2_EvtWriter_Enter(writer, nullptr, t, recv);
        OTF2_EvtWriter_MpiRecv(writer, nullptr, t, 0, 100, 3, 8);
        OTF2_EvtWriter_Leave(writer, nullptr, t, recv);
      }
    });
    archive.close([&](OTF2_GlobalDefWriter* writer) {
      archive.region(writer, isend, "MPI_Isend", OTF2_PARADIGM_MPI);
      archive.region(writer, wait, "MPI_Wait", OTF2_PARADIGM_MPI);
      archive.region(writer, irecv, "MPI_Irecv", OTF2_PARADIGM_MPI);
      archive.region(writer, recv, "MPI_Recv", OTF2_PARADIGM_MPI);
      const std::uint64_t locations[] = {0, 1}, ranks[] = {0, 1};
      OTF2_GlobalDefWriter_WriteGroup(writer, 1, OTF2_UNDEFINED_STRING, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                      OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 2, locations);
      OTF2_GlobalDefWriter_WriteGroup(writer, 2, OTF2_UNDEFINED_STRING, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                      OTF2_GROUP_FLAG_NONE, 2, ranks);
      OTF2_GlobalDefWriter_WriteComm(writer, 100, OTF2_UNDEFINED_STRING, 2, OTF2_UNDEFINED_COMM, 0);
    });
    trace_ = Trace::open_archive(archive.anchor());
  }
  ~FreedRequests() override { std::filesystem::remove_all(directory_); }

  /// Time that senders have waited for receivers, when so many requests may be open.
  std::int64_t waiting_ns(std::size_t open_requests, patterns::SearchCounts& counts) {
    patterns::Search search(*trace_, false, {.open_requests = open_requests});
    std::int64_t ns = 0;
    search.subscribe<patterns::Sending>([&](const patterns::Sending& of) { ns += of.waiting_ns; });
    search.run();
    counts = search.counts();
    return ns;
  }

  std::filesystem::path directory_;
  std::shared_ptr<const Trace> trace_;
};

TEST_F(FreedRequests, a_late_receiver_is_found_behind_them) {
  patterns::SearchCounts counts;
  EXPECT_EQ(3000, waiting_ns(0, counts));
  EXPECT_EQ(1, counts.known_messages);
  // As many are forgotten as are more, in halves; the one that is waited for is the youngest.
  EXPECT_EQ(3000, waiting_ns(freed, counts));
  EXPECT_EQ((freed + 1) / 2, counts.messages.left_out[static_cast<std::size_t>(LeftOut::Forgotten)]);
  EXPECT_LT(counts.known_messages, 0.85);
}

}  // namespace
}  // namespace refrain::trace
