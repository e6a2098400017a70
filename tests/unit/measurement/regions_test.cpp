#include "measurement/regions.hpp"

#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

namespace refrain::measurement {
namespace {

std::string name_of(RegionId id) { return user_region_names()[static_cast<std::size_t>(id) - first_user_region]; }

TEST(RegionName, is_what_was_given_when_that_can_be_shown) {
  for (const std::string given : {"step", "a b;c\"\\", "Größe µ", "\xf0\x9f\x8c\x8a", "%s%n"}) {
    EXPECT_EQ(given, RegionName(given).view());
    EXPECT_TRUE(RegionName(given).is_as_given()) << given;
  }
}

TEST(RegionName, has_question_marks_for_bytes_that_cannot_be_shown) {
  const std::pair<std::string, std::string> cases[] = {
      {"\x01tab\t\n", "?tab??"}, {"\xff\xfe", "??"},
      {"cut\xc3", "cut?"},       {"\xc0\x80", "??"},               // longer than need be
      {"\xed\xa0\x80", "???"},   {"\xf4\x90\x80\x80", "????"},     // surrogate, beyond the last
      {"\xc2\x85", "??"},        {std::string("a\0b", 3), "a?b"},  // control characters
      {"", "(unnamed)"},
  };
  for (const auto& [given, shown] : cases) {
    EXPECT_EQ(shown, RegionName(given).view());
    EXPECT_FALSE(RegionName(given).is_as_given());
  }
}

TEST(RegionName, is_cut_between_characters) {
  const std::string longest(longest_region_name, 'x');
  EXPECT_TRUE(RegionName(longest).is_as_given());
  EXPECT_EQ(longest, RegionName(longest + "y").view());
  EXPECT_FALSE(RegionName(longest + "y").is_as_given());
  const std::string before = longest.substr(1);
  EXPECT_EQ(before, RegionName(before + "µ").view());
}

TEST(UserRegion, equal_names_have_one_id_in_all_threads_and_names_past_the_last_id_share_one) {
  constexpr int names = max_user_regions + 500;
  std::vector<std::vector<RegionId>> ids(4);
  std::vector<std::thread> threads;
  for (auto& own : ids)
    threads.emplace_back([&own] {
      for (int i = 0; i < names; ++i) own.push_back(user_region(RegionName("region " + std::to_string(i))));
    });
  for (auto& thread : threads) thread.join();
  for (const auto& own : ids) EXPECT_EQ(ids[0], own);
  EXPECT_EQ("region 0", name_of(ids[0][0]));
  EXPECT_EQ("region 1000", name_of(ids[0][1000]));
  EXPECT_EQ("(other regions)", name_of(ids[0].back()));
  EXPECT_EQ(max_user_regions, user_region_names().size());
  bool is_new = true;
  EXPECT_EQ(ids[0][7], user_region(RegionName("region 7"), &is_new));
  EXPECT_FALSE(is_new);
}

}  // namespace
}  // namespace refrain::measurement
