#include "platform/modules.hpp"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace refrain::platform {
namespace {

TEST(Modules, the_program_and_libc_are_known_by_path_and_build_id) {
  refresh_modules();
  const int own = find_module(reinterpret_cast<std::uintptr_t>(&refresh_modules), module_generation());
  ASSERT_GE(own, 0);
  EXPECT_NE(std::strstr(all_modules()[static_cast<std::size_t>(own)].path, "test_measurement"), nullptr);
  void* handle = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);  // by name: a sanitizer has its own of many functions
  ASSERT_NE(handle, nullptr);
  const int libc = find_module(reinterpret_cast<std::uintptr_t>(dlsym(handle, "qsort")), module_generation());
  ASSERT_GE(libc, 0);
  EXPECT_NE(std::strstr(all_modules()[static_cast<std::size_t>(libc)].path, "/libc.so.6"), nullptr);
  EXPECT_EQ(all_modules()[static_cast<std::size_t>(libc)].build_id_size, 20);
}

TEST(Modules, an_address_belongs_to_the_module_of_its_generation) {
  void* first = dlopen(UNLOADABLE, RTLD_NOW);
  ASSERT_NE(first, nullptr);
  const auto address = reinterpret_cast<std::uintptr_t>(dlsym(first, "answer"));
  refresh_modules();
  const std::uint32_t before = module_generation();
  const int old_module = find_module(address, before);
  ASSERT_GE(old_module, 0);
  EXPECT_NE(std::strstr(all_modules()[static_cast<std::size_t>(old_module)].path, "libunloadable.so"), nullptr);
  EXPECT_FALSE(unloaded_since(address, before));

  dlclose(first);
  EXPECT_TRUE(refresh_modules());
  EXPECT_EQ(module_generation(), before + 1);
  EXPECT_TRUE(unloaded_since(address, before));
  EXPECT_FALSE(unloaded_since(address, before + 1));
  EXPECT_EQ(find_module(address, before), old_module);
  EXPECT_EQ(find_module(address, before + 1), -1);

  void* second = dlopen(UNLOADABLE_TOO, RTLD_NOW);
  ASSERT_NE(second, nullptr);
  refresh_modules();
  const auto other = reinterpret_cast<std::uintptr_t>(dlsym(second, "answer"));
  const int new_module = find_module(other, module_generation());
  ASSERT_GE(new_module, 0);
  EXPECT_NE(std::strstr(all_modules()[static_cast<std::size_t>(new_module)].path, "libunloadable_too.so"), nullptr);
  // The dynamic linker usually puts the second library where the first one lay: this is the case that matters.
  if (other == address) {
    EXPECT_EQ(find_module(address, before), old_module);
  }
  dlclose(second);
}

}  // namespace
}  // namespace refrain::platform
