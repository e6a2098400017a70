// The function that a call names, read from the code before its return address.
#include "platform/call_target.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace refrain::platform
