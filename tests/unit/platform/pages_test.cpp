/// Memory that is only as resident as it is used.

#include "platform/pages.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace refrain::platform {
namespace {

/// What /proc/self/smaps says of the mapping at an address: the line with that key.
std::string of_mapping(const void* at, const std::string& key) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  std::ifstream maps("/proc/self/smaps");
  bool is_it = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      is_it = begin <= address && address < end;
      if (is_it && key.empty()) return line.substr(line.find(' ') + 1, 4);
    }
    if (is_it && !key.empty() && line.starts_with(key)) return line;
  }
  return {};
}

std::string rights(const void* at) { return of_mapping(at, ""); }

TEST(Pages, are_never_huge) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) GTEST_SKIP() << "this kernel has no huge pages";
  constexpr std::size_t bytes = std::size_t{8} << 20;
  for (void* pages : {map_pages(bytes), reserve_pages(bytes)}) {
    ASSERT_NE(pages, nullptr);
    EXPECT_NE((of_mapping(pages, "VmFlags:") + " ").find(" nh "), std::string::npos);
    unmap_pages(pages, bytes);
  }
}

TEST(Pages, of_a_part_are_usable_as_far_as_it_was_opened) {
  constexpr std::size_t bytes = std::size_t{64} << 20, first = 1000, middle = (std::size_t{32} << 20) + 100;
  auto* memory = static_cast<std::byte*>(reserve_pages(bytes));
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(rights(memory), "---p");
  OpenedPart low(memory, memory + middle), high(memory + middle, memory + bytes);
  ASSERT_TRUE(low.reach(memory + first));
  EXPECT_EQ(rights(memory), "rw-p");
  memory[first - 1] = std::byte{7};
  EXPECT_EQ(rights(memory + (std::size_t{1} << 20)), "---p") << "a step is 256 KiB";
  // Both parts share a page.
  ASSERT_TRUE(high.reach(memory + middle + 1));
  memory[middle] = std::byte{8};
  ASSERT_TRUE(low.reach(memory + middle));
  EXPECT_EQ(memory[middle - 1], std::byte{0});
  EXPECT_EQ(memory[middle], std::byte{8});
  EXPECT_EQ(memory[first - 1], std::byte{7});
  EXPECT_FALSE(low.reach(memory + middle + 1)) << "beyond its end";
  ASSERT_TRUE(high.reach(memory + bytes));
  EXPECT_EQ(rights(memory + bytes - 1), "rw-p");
  unmap_pages(memory, bytes);
}

}  // namespace
}  // namespace refrain::platform
