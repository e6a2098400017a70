#include "platform/modules.hpp"

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <utility>

namespace refrain::platform {
namespace {

Module module_at(std::uintptr_t address, std::uint32_t generation = module_generation()) {
  Module module{};
  const int index = find_module(address, generation);
  EXPECT_TRUE(index >= 0 && copy_module(static_cast<std::size_t>(index), module));
  return module;
}

bool means_now(std::uintptr_t address, std::uint32_t generation) {
  const CodeLife life = code_at(address);
  return life.first <= generation && generation < life.end;
}

std::size_t records() {
  std::size_t count = 0;
  for (Module module; copy_module(count, module);) ++count;
  return count;
}

/// A library between its loading and its unloading, as the program does it: nobody is told of the loading.
struct Loaded {
  explicit Loaded(const char* path) : handle(dlopen(path, RTLD_NOW)) {
    EXPECT_NE(handle, nullptr) << dlerror();
    address = reinterpret_cast<std::uintptr_t>(dlsym(handle, "answer"));
  }
  void close() {
    refresh_modules();
    const Unloading unloading;
    dlclose(handle);
    EXPECT_TRUE(refresh_modules());
  }
  void* handle;
  std::uintptr_t address;
};

TEST(Modules, the_program_and_libc_are_known_by_path_and_build_id) {
  refresh_modules();
  EXPECT_NE(std::strstr(module_at(reinterpret_cast<std::uintptr_t>(&refresh_modules)).path, "test_measurement"),
            nullptr);
  void* handle = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);  // by name: a sanitizer has its own of many functions
  ASSERT_NE(handle, nullptr);
  const Module libc = module_at(reinterpret_cast<std::uintptr_t>(dlsym(handle, "qsort")));
  EXPECT_NE(std::strstr(libc.path, "/libc.so.6"), nullptr);
  EXPECT_EQ(libc.build_id_size, 20);
}

TEST(Modules, an_address_belongs_to_the_module_of_its_generation) {
  Loaded first(UNLOADABLE);
  refresh_modules();
  const std::uint32_t before = module_generation();
  EXPECT_NE(std::strstr(module_at(first.address, before).path, "libunloadable.so"), nullptr);
  EXPECT_TRUE(means_now(first.address, before));
  first.close();
  EXPECT_GT(module_generation(), before);
  EXPECT_FALSE(means_now(first.address, before));
  EXPECT_TRUE(means_now(first.address, module_generation()));
  EXPECT_NE(std::strstr(module_at(first.address, before).path, "libunloadable.so"), nullptr);
  EXPECT_EQ(find_module(first.address, module_generation()), -1);
  // The dynamic linker puts the second library where the first one lay: this is the case that matters.
  Loaded second(UNLOADABLE_TOO);
  ASSERT_EQ(second.address, first.address);
  EXPECT_FALSE(means_now(first.address, before)) << "before anybody was told of the second one";
  EXPECT_TRUE(means_now(second.address, module_generation()));
  refresh_modules();
  EXPECT_FALSE(means_now(first.address, before));
  EXPECT_NE(std::strstr(module_at(second.address, code_at(second.address).now).path, "libunloadable_too.so"), nullptr);
  EXPECT_NE(std::strstr(module_at(first.address, before).path, "libunloadable.so"), nullptr);
  second.close();
}

TEST(Modules, one_that_comes_back_to_its_place_is_the_same) {
  for (const auto& [path, other_path] : {std::pair{UNLOADABLE, UNLOADABLE_TOO}, {NAMELESS, NAMELESS_TOO}}) {
    SCOPED_TRACE(path);
    Loaded first(path);
    refresh_modules();
    const std::uint32_t then = code_at(first.address).now;
    first.close();
    Loaded other(other_path);
    ASSERT_EQ(other.address, first.address);
    refresh_modules();
    const std::uint32_t of_other = code_at(other.address).now;
    other.close();
    const std::size_t known = records();
    for (int i = 0; i < 500; ++i) {
      Loaded again(path);
      ASSERT_EQ(again.address, first.address);
      ASSERT_TRUE(means_now(again.address, then)) << "before anybody was told, in round " << i;
      ASSERT_FALSE(means_now(again.address, of_other));
      refresh_modules();
      ASSERT_TRUE(means_now(again.address, then));
      again.close();
      ASSERT_FALSE(means_now(again.address, then));
      if (i % 10) continue;
      Loaded between(other_path);
      ASSERT_EQ(between.address, first.address);
      ASSERT_FALSE(means_now(between.address, then));
      ASSERT_TRUE(means_now(between.address, of_other));
      between.close();
    }
    EXPECT_EQ(records(), known);
    EXPECT_EQ(module_at(first.address, then).base, module_at(other.address, of_other).base);
    EXPECT_STREQ(module_at(first.address, then).path, path);
    EXPECT_STREQ(module_at(other.address, of_other).path, other_path);
  }
}

/// Another thread loads a library where one has just gone, before anybody was told that it is gone.
TEST(Modules, one_that_comes_while_another_goes_is_not_taken_for_it) {
  Loaded(UNLOADABLE).close();
  Loaded(UNLOADABLE_TOO).close();  // both are known
  Loaded first(UNLOADABLE);
  refresh_modules();
  const std::uint32_t of_first = code_at(first.address).now;
  const Unloading unloading;
  ASSERT_TRUE(means_now(first.address, of_first)) << "while its destructors run";
  dlclose(first.handle);
  Loaded second(UNLOADABLE_TOO);
  ASSERT_EQ(second.address, first.address);
  EXPECT_FALSE(means_now(second.address, of_first));
  const std::uint32_t of_second = code_at(second.address).now;
  refresh_modules();
  EXPECT_TRUE(means_now(second.address, of_second));
  EXPECT_STREQ(module_at(second.address, of_second).path, UNLOADABLE_TOO);
  second.close();
}

TEST(Modules, an_unload_leaves_code_elsewhere_as_it_is) {
  const auto own = reinterpret_cast<std::uintptr_t>(&refresh_modules);
  refresh_modules();
  const std::uint32_t before = module_generation();
  for (int i = 0; i < 1100; ++i) Loaded(UNLOADABLE).close();
  EXPECT_GE(module_generation(), before + 1100);
  EXPECT_TRUE(means_now(own, before));
  EXPECT_EQ(find_module(own, before), find_module(own, module_generation()));
}

/// This program has holes between its segments: it is linked so.
TEST(Modules, what_lies_between_the_segments_of_a_module_does_not_belong_to_it) {
  refresh_modules();
  const auto own = reinterpret_cast<std::uintptr_t>(&refresh_modules);
  const std::uint32_t now = module_generation();
  const Module program = module_at(own);
  ASSERT_GT(program.segments.count, 1u);
  for (std::uint32_t i = 0; i < program.segments.count; ++i) {
    const Segment& segment = program.segments.of[i];
    EXPECT_EQ(find_module(segment.begin, now), find_module(own, now));
    EXPECT_EQ(find_module(segment.end - 1, now), find_module(own, now));
    if (i + 1 < program.segments.count) EXPECT_EQ(find_module(segment.end + 0x10000, now), -1);
  }
  // While a library goes away the loader is asked what lies at an address. It answers with one segment at a time.
  const std::uint32_t then = code_at(own).now;
  const Unloading unloading;
  for (const auto address : {own, program.segments.of[0].begin, program.segments.of[1].begin}) {
    const CodeLife life = code_at(address);
    EXPECT_LE(life.first, then);
    EXPECT_GT(life.end, then);
    EXPECT_EQ(find_module(address, life.now), find_module(own, then));
  }
}

TEST(Segments, adjacent_ones_are_one_and_the_closest_are_joined) {
  Segments segments{};
  segments.add({0x5000, 0x6800});
  segments.add({0x1000, 0x2234});
  segments.add({0x6c00, 0x7000});  // in the page after the first one
  ASSERT_EQ(segments.count, 2u);
  EXPECT_EQ(segments.of[0].end, 0x2234u);
  EXPECT_EQ(segments.of[1].begin, 0x5000u);
  EXPECT_EQ(segments.of[1].end, 0x7000u);
  for (std::uintptr_t i = 1; i < 2 * Segments::limit; ++i) segments.add({i << 20, (i << 20) + 0x1000});
  ASSERT_EQ(segments.count, Segments::limit);
  for (std::uintptr_t i = 1; i < 2 * Segments::limit; ++i) EXPECT_TRUE(segments.contains((i << 20) + 0xfff));
  EXPECT_TRUE(segments.contains(0x3000)) << "the smallest hole is given up first";
}

/// The loader lists a library before it can be found by an address. One that is looked at just then is the same, too.
TEST(Modules, one_that_is_looked_at_while_it_comes_has_one_record) {
  const Loaded first(UNLOADABLE);
  refresh_modules();
  const std::size_t known = records();
  const std::uintptr_t place = module_at(first.address, code_at(first.address).now).begin;
  dlclose(first.handle);
  refresh_modules();
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop.load()) refresh_modules();
  });
  for (int i = 0; i < 5000; ++i) {
    void* handle = dlopen(UNLOADABLE, RTLD_NOW);
    const Unloading unloading;
    dlclose(handle);
  }
  stop.store(true);
  other.join();
  std::set<std::uintptr_t> places{place};
  Module module;
  for (std::size_t i = known; copy_module(i, module); ++i)
    EXPECT_TRUE(std::strcmp(module.path, UNLOADABLE) != 0 || places.insert(module.begin).second) << "record " << i;
}

/// One thread loads and unloads, another reads the list as a snapshot does: what it reads is whole. For the thread
/// sanitizer above all.
TEST(Modules, the_list_can_be_read_while_modules_come_and_go) {
  refresh_modules();
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop.load()) {
      Module module;
      for (std::size_t i = 0; copy_module(i, module); ++i) {
        ASSERT_LT(module.begin, module.end);
        ASSERT_LE(module.loaded, module.unloaded);
      }
      code_at(reinterpret_cast<std::uintptr_t>(&module_at));
    }
  });
  for (int i = 0; i < 300; ++i) {
    Loaded(UNLOADABLE).close();
    Loaded(i % 2 ? NAMELESS : NAMELESS_TOO).close();
  }
  stop.store(true);
  reader.join();
}

}  // namespace
}  // namespace refrain::platform
