// The result of several threads is that of one thread in order.
#include "offline/experiment/rank_pass.hpp"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "offline/experiment/damage.hpp"

namespace refrain::experiment {
namespace {

TEST(InThreads, each_number_has_its_turn_once) {
  for (const unsigned threads : {1U, 3U, 64U}) {
    std::vector<std::atomic<int>> turns(50);
    for_each_in_threads(turns.size(), threads, [&](std::size_t number) { ++turns[number]; });
    EXPECT_TRUE(std::ranges::all_of(turns, [](const auto& of) { return of == 1; })) << threads;
  }
  for_each_in_threads(0, 3, [](std::size_t) { ADD_FAILURE(); });
}

TEST(InThreads, damage_is_noted_in_order_up_to_the_first_error) {
  std::vector<std::string> expected;
  for (const unsigned threads : {1U, 3U, 64U})
    for (int again = 0; again < 20; ++again) {
      DamageLog log;
      const auto work = [&](std::size_t number) {
        log.add("damage of " + std::to_string(number), "");
        if (number == 20 || number == 21) throw std::runtime_error("error of " + std::to_string(number));
      };
      try {
        for_each_in_threads(40, threads, work);
        ADD_FAILURE() << "nothing was thrown by " << threads;
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ("error of 20", error.what()) << threads;
      }
      if (threads == 1) expected = log.lines();
      EXPECT_EQ(expected, log.lines()) << threads;
    }
  EXPECT_EQ(21u, expected.size());
}

}  // namespace
}  // namespace refrain::experiment
