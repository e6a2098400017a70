// Data that the record of a running process points to stay as they were when they were copied.

#include "record/copies.hpp"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <span>
#include <vector>

namespace refrain::record {
namespace {

TEST(Copies, stay_what_they_were_while_the_owner_goes_on) {
  Copies copies;
  std::vector<std::vector<std::int64_t>> truth;
  std::vector<std::span<const std::int64_t>> copied;
  std::vector<std::int64_t> items;
  for (std::size_t i = 0; i < 200; ++i) {
    // Several of them share a chunk; one needs more than a chunk has.
    items.resize(i == 100 ? 50'000 : i * 37 % 1000);
    for (std::size_t k = 0; k < items.size(); ++k) items[k] = static_cast<std::int64_t>(1'000'000 * i + k + 1);
    copied.push_back(copies.of(std::span<const std::int64_t>(items)));
    truth.push_back(items);
    std::ranges::fill(items, -1);
  }
  EXPECT_FALSE(copies.failed());
  for (std::size_t i = 0; i < truth.size(); ++i) EXPECT_TRUE(std::ranges::equal(truth[i], copied[i])) << i;
}

TEST(Copies, of_items_of_any_size_do_not_lie_in_each_other) {
  Copies copies;
  std::vector<std::span<const char>> copied;
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    const std::vector<char> text(static_cast<std::size_t>(letter - 'a' + 1), letter);
    copied.push_back(copies.of(std::span<const char>(text)));
  }
  for (std::size_t i = 0; i < copied.size(); ++i) {
    ASSERT_EQ(copied[i].size(), i + 1);
    EXPECT_EQ(std::ranges::count(copied[i], static_cast<char>('a' + i)), static_cast<std::ptrdiff_t>(i + 1));
  }
}

}  // namespace
}  // namespace refrain::record
