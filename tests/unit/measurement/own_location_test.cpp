#include "measurement/own_location.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace refrain::measurement {
namespace {

/// Locations are only told apart here.
Location* location(std::uintptr_t number) { return reinterpret_cast<Location*>(number * 64); }

struct OwnLocation : testing::Test {
  void SetUp() override { set_own_location(nullptr); }
  void TearDown() override { set_own_location(nullptr); }
};

TEST_F(OwnLocation, is_that_of_the_calling_thread) {
  EXPECT_EQ(own_location(), nullptr);
  set_own_location(location(1));
  EXPECT_EQ(own_location(), location(1));
  std::thread([] {
    EXPECT_EQ(own_location(), nullptr);
    set_own_location(location(2));
    EXPECT_EQ(own_location(), location(2));
    set_own_location(nullptr);
    EXPECT_EQ(own_location(), nullptr);
  }).join();
  EXPECT_EQ(own_location(), location(1));
  set_own_location(location(3));
  EXPECT_EQ(own_location(), location(3));
}

TEST_F(OwnLocation, of_the_first_thread_is_found_without_the_thread_local_variable) {
  if (!platform::has_thread_pointer()) GTEST_SKIP() << "the processor or the kernel cannot";
  set_own_location(location(1));
  location_of_thread = location(2);
  EXPECT_EQ(own_location(), location(1));
}

TEST_F(OwnLocation, another_threads_location_does_not_reach_a_child_process) {
  set_own_location(location(1));
  std::thread([] {
    set_own_location(location(2));
    const pid_t child = fork();
    if (child == 0) {
      const bool is_inherited = own_location() == location(2);
      set_own_location(nullptr);
      const bool is_forgotten = own_location() == nullptr;
      set_own_location(location(3));
      _exit(is_inherited && is_forgotten && own_location() == location(3) ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }).join();
}

}  // namespace
}  // namespace refrain::measurement
