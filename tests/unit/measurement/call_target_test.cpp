// The function that a call names, read from the code before its return address.
#include "platform/call_target.hpp"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "platform/modules.hpp"

namespace refrain::platform {
namespace {

const void* target;

[[gnu::noinline]] void look() { target = call_target(__builtin_return_address(0)); }
[[gnu::noinline]] void call_directly() {
  look();
  asm volatile("");  // not a tail call
}

TEST(CallTarget, of_a_direct_call_is_the_function) {
  call_directly();
  EXPECT_EQ(reinterpret_cast<const void*>(&look), target);
}

TEST(CallTarget, of_a_call_through_a_pointer_is_not_known) {
  void (*volatile pointer)() = look;
  target = &target;
  pointer();
  EXPECT_EQ(nullptr, target);
}

/// What looks like a call may name an address between two segments of a library, where nothing can be read.
TEST(CallTarget, in_a_hole_of_a_library_is_none) {
  void* handle = dlopen(WITH_HOLES, RTLD_NOW);
  ASSERT_NE(handle, nullptr) << dlerror();
  refresh_modules();
  const auto address = reinterpret_cast<std::uintptr_t>(dlsym(handle, "answer"));
  Module module{};
  ASSERT_TRUE(copy_module(static_cast<std::size_t>(find_module(address, code_at(address).now)), module));
  ASSERT_GT(module.segments.count, 1u);
  const std::uintptr_t hole = module.segments.of[0].end + 0x10000;
  ASSERT_FALSE(module.covers(hole));
  void* pages = mmap(reinterpret_cast<void*>(module.begin - 0x1000'0000), 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const auto code = static_cast<unsigned char*>(pages);
  const auto write = [&](unsigned char* after, std::uintptr_t to) {
    const auto distance = static_cast<std::int64_t>(to - reinterpret_cast<std::uintptr_t>(after));
    const auto field = static_cast<std::int32_t>(distance);
    ASSERT_EQ(field, distance);
    std::memcpy(after - 4, &field, sizeof field);
  };
  code[11] = 0xe8;
  write(code + 16, hole);
  EXPECT_EQ(call_target(code + 16), nullptr);
  code[11] = 0x15;
  code[10] = 0xff;
  EXPECT_EQ(call_target(code + 16), nullptr) << "through a slot";
  code[11] = 0xe8;
  write(code + 16, address);
  EXPECT_EQ(call_target(code + 16), reinterpret_cast<const void*>(address));
  munmap(pages, 4096);
  dlclose(handle);
}

}  // namespace
}  // namespace refrain::platform
