#include "config/inlined_code.hpp"

#include <gtest/gtest.h>
#include <utility>
#include <vector>

namespace refrain::config {
namespace {

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Ranges ranges_of(std::string_view text, std::string_view module) {
  Ranges ranges;
  for_each_inlined(text, module, [&](std::uint64_t begin, std::uint64_t end) { ranges.emplace_back(begin, end); });
  return ranges;
}

TEST(InlinedCode, is_told_module_by_module) {
  const std::string_view text = "0a1b:10-20,ff-100;/lib/x.so:1234-abcd";
  EXPECT_EQ(ranges_of(text, "0a1b"), (Ranges{{0x10, 0x20}, {0xff, 0x100}}));
  EXPECT_EQ(ranges_of(text, "/lib/x.so"), (Ranges{{0x1234, 0xabcd}}));
  EXPECT_EQ(ranges_of(text, "0a"), Ranges{});
}

TEST(InlinedCode, that_is_damaged_is_passed_over) {
  for (const char* text : {"", ";", ":", "m", "m:", "m:-", "m:1-", "m:-2", "m:2-1", "m:1-1", "m:x-y", "m:1", "m:1-2-3",
                           "m:11111111111111111-22222222222222222"})
    EXPECT_EQ(ranges_of(text, "m"), Ranges{}) << text;
  EXPECT_EQ(ranges_of("m:zz-1,5-6;m:7-8", "m"), (Ranges{{5, 6}, {7, 8}}));
}

}  // namespace
}  // namespace refrain::config
