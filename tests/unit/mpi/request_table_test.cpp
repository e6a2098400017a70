#include "adapters/mpi/requests/request_table.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

namespace refrain::adapters::mpi {
namespace {

std::uint64_t size_of(const RequestTable& table) {
  return table.count([](const TrackedRequest&) { return true; });
}

TEST(RequestTable, finds_what_was_added_and_nothing_else) {
  RequestTable table;
  EXPECT_EQ(table.find(42), nullptr);
  TrackedRequest* added = table.add(42, events::Kind::Receive);
  ASSERT_NE(added, nullptr);
  EXPECT_EQ(table.find(42), added);
  EXPECT_EQ(table.find(43), nullptr);
  EXPECT_EQ(size_of(table), 1u);
}

TEST(RequestTable, claimed_entry_is_hidden_until_it_is_returned) {
  RequestTable table;
  TrackedRequest* added = table.add(42, events::Kind::Receive);
  EXPECT_EQ(table.claim(42), added);
  EXPECT_EQ(table.claim(42), nullptr);
  EXPECT_EQ(table.find(42), nullptr);
  table.return_claim(*added);
  EXPECT_EQ(table.claim(42), added);
  table.release(*added);
  EXPECT_EQ(table.find(42), nullptr);
  EXPECT_EQ(size_of(table), 0u);
}

TEST(RequestTable, handle_used_again_while_its_old_request_is_claimed_is_another_entry) {
  RequestTable table;
  table.add(42, events::Kind::Receive);
  TrackedRequest* old = table.claim(42);
  TrackedRequest* next = table.add(42, events::Kind::Send);
  EXPECT_NE(next, old);
  table.release(*old);
  EXPECT_EQ(table.find(42), next);
  EXPECT_EQ(next->kind, events::Kind::Send);
  EXPECT_EQ(size_of(table), 1u);
}

TEST(RequestTable, forgotten_request_of_the_same_handle_is_replaced) {
  RequestTable table;
  table.add(42, events::Kind::Collective)->bytes_sent = 7;
  TrackedRequest* again = table.add(42, events::Kind::Receive);
  EXPECT_EQ(again->bytes_sent, 0);
  EXPECT_EQ(size_of(table), 1u);
}

// Handles as MPICH makes them (close to each other) and as Open MPI does (addresses), far more than the first table
// holds.
TEST(RequestTable, agrees_with_a_map_under_random_use) {
  for (std::uint64_t stride : {1ull, 16ull, 512ull, 4096ull}) {
    RequestTable table;
    std::unordered_map<std::uint64_t, std::int64_t> truth;
    std::mt19937_64 random(stride);
    for (int i = 0; i < 300'000; ++i) {
      const std::uint64_t handle = 0x5555'0000'0000u + stride * (1 + random() % 40'000);
      const auto known = truth.find(handle);
      TrackedRequest* found = table.claim(handle);
      ASSERT_EQ(found != nullptr, known != truth.end());
      if (!found) {
        table.add(handle, events::Kind::Receive)->bytes_received = i;
        truth[handle] = i;
        continue;
      }
      ASSERT_EQ(found->bytes_received, known->second);
      if (random() % 4 == 0) {
        table.return_claim(*found);
      } else {
        table.release(*found);
        truth.erase(known);
      }
    }
    EXPECT_EQ(size_of(table), truth.size());
    for (const auto& [handle, value] : truth) {
      TrackedRequest* found = table.claim(handle);
      ASSERT_NE(found, nullptr);
      ASSERT_EQ(found->bytes_received, value);
      table.release(*found);
    }
    EXPECT_EQ(size_of(table), 0u);
  }
}

// As MPI does with several threads: a handle goes back to the store inside the completing call, while its entry is only
// claimed, and another thread may draw it at once. Each request carries a value that only its owner knows.
TEST(RequestTable, many_threads_reuse_handles_at_once) {
  RequestTable table;
  constexpr int threads = 8, rounds = 40'000, handles = 64;
  std::atomic<std::uint64_t> store[handles];
  for (int i = 0; i < handles; ++i) store[i] = 0x1000 + 16 * i;
  std::atomic<int> wrong{0};
  auto draw = [&](std::mt19937& random) {
    for (;;)
      if (const std::uint64_t handle = store[random() % handles].exchange(0)) return handle;
  };
  auto give_back = [&](std::uint64_t handle, std::mt19937& random) {
    for (;;) {
      std::uint64_t nothing = 0;
      if (store[random() % handles].compare_exchange_strong(nothing, handle)) return;
    }
  };
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < rounds; ++i) {
        const std::uint64_t handle = draw(random);
        const std::int64_t value = std::int64_t{t} * rounds + i;
        TrackedRequest* added = table.add(handle, events::Kind::Receive);
        added->bytes_received = value;
        if (i % 3 == 0) table.return_claim(*table.claim(handle));
        TrackedRequest* found = table.claim(handle);
        wrong += found == nullptr || found->bytes_received != value;
        give_back(handle, random);
        std::this_thread::yield();
        if (found) table.release(*found);
      }
    });
  for (auto& thread : all) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(size_of(table), 0u);
}

// Many more requests than the first table holds, added and completed by other threads than those that posted them.
TEST(RequestTable, grows_under_many_threads) {
  RequestTable table;
  constexpr std::uint64_t threads = 4, each = 20'000;
  auto on_all = [&](auto work) {
    std::vector<std::thread> all;
    for (std::uint64_t t = 0; t < threads; ++t) all.emplace_back(work, t);
    for (auto& thread : all) thread.join();
  };
  on_all([&](std::uint64_t t) {
    for (std::uint64_t i = 0; i < each; ++i)
      table.add(16 * (1 + t * each + i), events::Kind::Receive)->bytes_received =
          static_cast<std::int64_t>(t * each + i);
  });
  EXPECT_EQ(size_of(table), threads * each);
  std::atomic<int> wrong{0};
  on_all([&](std::uint64_t t) {
    const std::uint64_t other = (t + 1) % threads;
    for (std::uint64_t i = 0; i < each; ++i) {
      TrackedRequest* found = table.claim(16 * (1 + other * each + i));
      wrong += !found || found->bytes_received != static_cast<std::int64_t>(other * each + i);
      if (found) table.release(*found);
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(size_of(table), 0u);
}

}  // namespace
}  // namespace refrain::adapters::mpi
