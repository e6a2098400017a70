// Items are found by their hashes, whatever else has the same hash, and while the index grows.

#include "platform/hash_index.hpp"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace refrain::platform {
namespace {

class HashIndexTest : public testing::TestWithParam<std::uint64_t> {};

/// `GetParam()`: so many hashes there are.
TEST_P(HashIndexTest, each_item_is_found_and_no_other) {
  HashIndex index;
  std::vector<std::uint64_t> items;
  std::mt19937_64 random(7);
  const auto hash_of = [](std::uint64_t item) { return item % GetParam() * 0x9e3779b97f4a7c15u; };
  const auto find = [&](std::uint64_t wanted) {
    return index.find(hash_of(wanted), [&](std::uint32_t i) { return items[i] == wanted; });
  };
  EXPECT_EQ(HashIndex::none, find(1));
  for (std::uint32_t i = 0; i < 3000; ++i) {
    items.push_back(random() | 1);
    ASSERT_TRUE(index.reserve_one());
    index.insert(hash_of(items.back()), i);
    ASSERT_EQ(i, find(items.back()));
  }
  for (std::uint32_t i = 0; i < items.size(); ++i) ASSERT_EQ(i, find(items[i]));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(HashIndex::none, find(random() & ~std::uint64_t{1}));
}

INSTANTIATE_TEST_SUITE_P(Hashes, HashIndexTest, testing::Values(1, 50, std::uint64_t{1} << 62));

}  // namespace
}  // namespace refrain::platform
