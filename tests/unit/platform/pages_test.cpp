/// Only the used part of memory is resident.

#include "platform/pages.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace refrain::platform {
namespace {

/// The line with the given key that /proc/self/smaps has for the mapping at an address.
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

TEST(Pages, are_not_resident_because_the_program_locks_what_it_will_map) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  if (mlockall(MCL_FUTURE) != 0) GTEST_SKIP() << "memory may not be locked here (ulimit -l)";
  void* pages = map_pages(bytes);
  munlockall();
  ASSERT_NE(pages, nullptr);
  std::vector<unsigned char> resident(bytes / 4096);
  ASSERT_EQ(mincore(pages, bytes, resident.data()), 0);
  EXPECT_EQ(std::ranges::count_if(resident, [](unsigned char page) { return page & 1; }), 0);
  unmap_pages(pages, bytes);
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
