#include "platform/symbols.hpp"

#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace refrain::platform {
namespace {

/// The object whose path has `name` in it.
LoadedObject loaded(const char* name) {
  struct Search {
    const char* name;
    LoadedObject found{0, nullptr};
  } search{name};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        if (!std::strstr(info->dlpi_name, wanted.name)) return 0;
        wanted.found = object_of(*info);
        return 1;
      },
      &search);
  return search.found;
}

TEST(Symbols, functions_of_an_object_are_those_that_the_loader_finds) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(libc, nullptr);
  const LoadedObject object = loaded("/libc.so.6");
  for (const char* name : {"qsort", "strtol", "dlsym", "pthread_create", "regexec"})  // some in several versions
    EXPECT_EQ(function_of(object, name), dlsym(libc, name)) << name;
  EXPECT_EQ(function_of(object, "no_such_function"), nullptr);
  EXPECT_EQ(function_of(object, "environ"), nullptr) << "data is no function";
  dlclose(libc);
}

TEST(Symbols, the_page_of_the_kernel_is_an_object_too) {
  const LoadedObject object = loaded("linux-vdso");
  if (!object.dynamic) GTEST_SKIP() << "this kernel maps none";
  auto* get_time = reinterpret_cast<int (*)(clockid_t, timespec*)>(function_of(object, "__vdso_clock_gettime"));
  ASSERT_NE(get_time, nullptr);
  timespec now{}, then{};
  clock_gettime(CLOCK_MONOTONIC, &then);
  ASSERT_EQ(get_time(CLOCK_MONOTONIC, &now), 0);
  EXPECT_LE(now.tv_sec - then.tv_sec, 60);
}

TEST(Symbols, look_ups_of_ones_own) {
  EXPECT_EQ(find_symbol(RTLD_DEFAULT, "qsort"), dlsym(RTLD_DEFAULT, "qsort"));
  EXPECT_EQ(find_symbol(RTLD_DEFAULT, "no_such_function"), nullptr);
  EXPECT_NE(dlerror(), nullptr);
  EXPECT_NE(next_function_of_process("qsort"), nullptr);
  EXPECT_NE(own_object().dynamic, nullptr);
}

}  // namespace
}  // namespace refrain::platform
