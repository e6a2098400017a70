/// What goes wrong in real processes: corrupt stacks, generated code, a library in place of another, calls through bad
/// pointers, stacks deeper than the walker.

#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <random>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

#include "mapped_walker.hpp"
#include "platform/modules.hpp"
#include "platform/signal_context.hpp"
#include "platform/threads.hpp"
#include "unwind/calling_frame.hpp"

void call_from_realigned_frame(void (*function)(unsigned, void*), unsigned depth, void* argument);

namespace refrain::unwind {
namespace {

struct Fixture : testing::Test {
  test::MappedWalker walker;
  void SetUp() override {
    ASSERT_TRUE(start_rule_cache());
    ASSERT_TRUE(walker.create(platform::own_stack(), 1024, Backend::Incremental));
  }
  void TearDown() override { walker.destroy(); }
};
using Faults = Fixture;

std::vector<std::uintptr_t> addresses(const Walk& walk) {
  std::vector<std::uintptr_t> result;
  for (std::uint32_t i = walk.depth; i-- > 0;) result.push_back(walk.frames[i].pc);
  return result;
}

/// The path by glibc's own unwinder, from the frame on that `pc` returns to.
std::vector<std::uintptr_t> path_by_backtrace(std::uintptr_t pc) {
  void* found[2048];
  const int n = backtrace(found, 2048);
  std::vector<std::uintptr_t> result;
  for (int i = 0; i < n; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(found[i]);
    if (!result.empty() || address == pc) result.push_back(address);
  }
  return result;
}

struct Capture {
  Walker* walker;
  std::vector<std::uintptr_t> path, by_backtrace;
  WalkEnd end;
  std::uint32_t reused;
};

[[gnu::noinline]] int capture(void* argument) {
  auto& c = *static_cast<Capture*>(argument);
  const Start start = calling_frame();
  const Walk walk = c.walker->walk(start);
  c.path = addresses(walk);
  c.end = walk.end;
  c.reused = walk.reused;
  c.by_backtrace = path_by_backtrace(start.registers.pc);
  return 1;
}

// ---- Another library at the same address ----

TEST_F(Faults, library_in_place_of_another_is_unwound_by_its_own_tables) {
  using Through = int (*)(int (*)(void*), void*);
  const char* const libraries[] = {UNWIND_PLUGIN_SMALL, UNWIND_PLUGIN_LARGE};
  std::uintptr_t place = 0;
  int same_place = 0;
  platform::refresh_modules();
  for (int round = 0; round < 20; ++round) {
    void* library = dlopen(libraries[round % 2], RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    platform::refresh_modules();
    auto* through = reinterpret_cast<Through>(dlsym(library, "through"));
    same_place += reinterpret_cast<std::uintptr_t>(through) == place;
    place = reinterpret_cast<std::uintptr_t>(through);
    for (int again = 0; again < 2; ++again) {
      Capture c{&walker, {}, {}, {}, 0};
      EXPECT_EQ(through(capture, &c), 4);
      EXPECT_EQ(c.end, WalkEnd::Complete);
      EXPECT_EQ(c.path, c.by_backtrace) << "round " << round;
      EXPECT_EQ(c.reused > 0, again == 1) << "an unload voids everything";
    }
    dlclose(library);
    EXPECT_TRUE(platform::refresh_modules());
    forget_rules();
  }
  EXPECT_GE(same_place, 10) << "the libraries did not take each other's place: nothing was tested";
}

// ---- Generated code ----

class GeneratedCode {
 public:
  /// int f(int (*callback)(void*), void* argument), by hand and without unwind tables.
  explicit GeneratedCode(bool with_frame_pointer) {
    code_ = static_cast<unsigned char*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    static constexpr unsigned char with[] = {0x55, 0x48, 0x89, 0xe5,           // push %rbp; mov %rsp, %rbp
                                             0x48, 0x89, 0xf8,                 // mov %rdi, %rax
                                             0x48, 0x89, 0xf7, 0xff, 0xd0,     // mov %rsi, %rdi; call *%rax
                                             0x5d, 0xc3};                      // pop %rbp; ret
    static constexpr unsigned char without[] = {0x55, 0x31, 0xed,              // push %rbp; xor %ebp, %ebp
                                                0x48, 0x89, 0xf8,              // mov %rdi, %rax
                                                0x48, 0x89, 0xf7, 0xff, 0xd0,  // mov %rsi, %rdi; call *%rax
                                                0x5d, 0xc3};                   // pop %rbp; ret
    if (with_frame_pointer) std::memcpy(code_, with, sizeof with);
    else std::memcpy(code_, without, sizeof without);
  }
  ~GeneratedCode() { munmap(code_, 4096); }
  int operator()(int (*callback)(void*), void* argument) const {
    return reinterpret_cast<int (*)(int (*)(void*), void*)>(code_)(callback, argument);
  }
  bool contains(std::uintptr_t pc) const { return pc - reinterpret_cast<std::uintptr_t>(code_) < 4096; }

 private:
  unsigned char* code_;
};

TEST_F(Faults, generated_code_with_a_frame_pointer_is_guessed_and_never_reused) {
  const GeneratedCode code(true);
  Capture direct{&walker, {}, {}, {}, 0}, through{&walker, {}, {}, {}, 0};
  for (int round = 0; round < 3; ++round) {
    capture(&direct);
    code(capture, &through);
    EXPECT_EQ(through.end, WalkEnd::Complete);
    ASSERT_EQ(through.path.size(), direct.path.size() + 1);
    EXPECT_TRUE(code.contains(through.path[0]));
    for (std::size_t i = 1; i < direct.path.size(); ++i) EXPECT_EQ(through.path[i + 1], direct.path[i]);
    EXPECT_EQ(through.reused, direct.path.size() - 1) << "what is outside of the guess is, the guessed frame is not";
  }
}

TEST_F(Faults, generated_code_without_frame_pointer_truncates_the_path) {
  const GeneratedCode code(false);
  Capture direct{&walker, {}, {}, {}, 0}, through{&walker, {}, {}, {}, 0};
  for (int round = 0; round < 3; ++round) {
    capture(&direct);
    EXPECT_EQ(direct.end, WalkEnd::Complete);
    code(capture, &through);
    EXPECT_EQ(through.end, WalkEnd::NoTables);
    EXPECT_EQ(through.reused, 0u);
    ASSERT_EQ(through.path.size(), 1u);
    EXPECT_TRUE(code.contains(through.path[0]));
  }
}

// ---- Frames that only all registers lead out of ----

/// Keeps its CFA in rbx, as some hand-written and some realigning code does.
extern "C" int through_rbx(int (*callback)(void*), void* argument);
asm(R"(
  .text
  .globl through_rbx
  .hidden through_rbx
  .type through_rbx, @function
through_rbx:
  .cfi_startproc
  push %rbx
  .cfi_def_cfa_offset 16
  .cfi_offset %rbx, -16
  mov %rsp, %rbx
  .cfi_def_cfa_register %rbx
  and $-32, %rsp
  sub $64, %rsp
  mov %rdi, %rax
  mov %rsi, %rdi
  call *%rax
  mov %rbx, %rsp
  .cfi_def_cfa_register %rsp
  pop %rbx
  .cfi_restore %rbx
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size through_rbx, . - through_rbx
)");

[[gnu::noinline]] int capture_through_rbx(void* argument) {
  const int result = through_rbx(capture, argument);
  asm volatile("");
  return result;
}

TEST_F(Faults, frame_found_through_another_register_is_stepped_with_all_registers) {
  for (int round = 0; round < 3; ++round) {
    Capture c{&walker, {}, {}, {}, 0};
    through_rbx(capture_through_rbx, &c);  // two such frames in one path
    EXPECT_EQ(c.end, WalkEnd::Complete);
    EXPECT_EQ(c.path, c.by_backtrace);
    EXPECT_EQ(c.reused, round == 0 ? 0 : c.path.size() - 3) << "what is outside of the outer one is reused";
  }
}

Walker* interrupted_walker;
std::uintptr_t interrupted_path[256];
std::uint32_t interrupted_depth;

void on_interruption(int, siginfo_t*, void* context) {
  const Walk walk = interrupted_walker->walk({platform::interrupted_registers(context), true, context});
  interrupted_depth = 0;
  for (std::uint32_t i = walk.depth; i-- > 0 && interrupted_depth < std::size(interrupted_path);)
    interrupted_path[interrupted_depth++] = walk.frames[i].pc;
}

[[gnu::noinline]] int capture_and_interrupt(void* argument) {
  capture(argument);
  raise(SIGUSR1);
  return 1;
}

TEST_F(Faults, frame_found_through_another_register_is_stepped_when_interrupted) {
  struct sigaction action = {}, old;
  action.sa_sigaction = on_interruption;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, &old);
  interrupted_walker = &walker;
  for (int round = 0; round < 3; ++round) {
    Capture c{&walker, {}, {}, {}, 0};
    through_rbx(capture_and_interrupt, &c);
    // Inside of capture_and_interrupt the two differ; from through_rbx on they do not.
    ASSERT_GT(interrupted_depth, c.path.size());
    for (std::size_t i = 1; i < c.path.size(); ++i)
      EXPECT_EQ(interrupted_path[interrupted_depth - i], c.path[c.path.size() - i]) << i;
  }
  sigaction(SIGUSR1, &old, nullptr);
}

// ---- Calls through bad pointers ----

sigjmp_buf after_fault;
Walker* fault_walker;
std::uintptr_t fault_path[256];  // innermost first
std::uint32_t fault_depth;
WalkEnd fault_end;

void on_fault(int, siginfo_t*, void* context) {
  const Walk walk = fault_walker->walk({platform::interrupted_registers(context), true, context});
  fault_depth = 0;
  for (std::uint32_t i = walk.depth; i-- > 0 && fault_depth < std::size(fault_path);)
    fault_path[fault_depth++] = walk.frames[i].pc;
  fault_end = walk.end;
  siglongjmp(after_fault, 1);
}

using Function = void (*)();
volatile Function bad_function;

[[gnu::noinline]] void call_bad_function() {
  bad_function();
  asm volatile("");
}

TEST_F(Faults, call_through_a_bad_pointer_is_charged_to_the_caller) {
  struct sigaction action = {}, old_segv, old_bus;
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &old_segv);
  sigaction(SIGBUS, &action, &old_bus);
  fault_walker = &walker;
  Capture here{&walker, {}, {}, {}, 0};
  void* data = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (const std::uintptr_t bad : {std::uintptr_t{0}, std::uintptr_t{64}, reinterpret_cast<std::uintptr_t>(data)}) {
    bad_function = reinterpret_cast<Function>(bad);
    fault_depth = 0;
    if (sigsetjmp(after_fault, 1) == 0) call_bad_function();
    capture(&here);
    ASSERT_EQ(fault_depth, here.path.size() + 2) << bad;
    EXPECT_EQ(fault_end, WalkEnd::Complete);
    EXPECT_EQ(fault_path[0], bad);
    const std::uintptr_t function = reinterpret_cast<std::uintptr_t>(&call_bad_function);
    EXPECT_LT(fault_path[1] - function, 64u);
    for (std::size_t i = 1; i < here.path.size(); ++i) EXPECT_EQ(fault_path[i + 2], here.path[i]);
  }
  munmap(data, 4096);
  sigaction(SIGSEGV, &old_segv, nullptr);
  sigaction(SIGBUS, &old_bus, nullptr);
}

// ---- Depth ----

[[gnu::noinline]] void at_depth(unsigned depth, Capture& c) {
  if (depth == 0) capture(&c);
  else at_depth(depth - 1, c);
  asm volatile("");
}

TEST_F(Faults, deeper_than_the_walker_keeps_the_innermost_frames) {
  walker.destroy();
  ASSERT_TRUE(walker.create(platform::own_stack(), 64, Backend::Incremental));
  for (const unsigned depth : {10u, 100u, 20u, 60u, 1000u, 30u, 31u}) {
    Capture c{&walker, {}, {}, {}, 0};
    at_depth(depth, c);
    ASSERT_EQ(c.end, c.by_backtrace.size() > 64 ? WalkEnd::DepthLimit : WalkEnd::Complete) << depth;
    if (c.by_backtrace.size() > 64) c.by_backtrace.resize(64);
    EXPECT_EQ(c.path, c.by_backtrace) << depth;
    if (c.end == WalkEnd::DepthLimit) {
      EXPECT_EQ(c.reused, 0u);
    }
  }
}

// ---- Corrupt stacks ----

/// A copy of the real stack from here outwards, with the pointers into it moved along.
struct StackCopy {
  static constexpr std::size_t red_zone = 16;  ///< words below the stack pointer that may be looked at
  std::vector<std::uintptr_t> words;
  Start start{};
  std::uintptr_t low() const { return reinterpret_cast<std::uintptr_t>(words.data() + red_zone); }
  std::uintptr_t high() const { return reinterpret_cast<std::uintptr_t>(words.data() + words.size()); }
};

[[gnu::noinline, gnu::no_sanitize("address")]] void copy_stack(StackCopy& copy) {
  const Start here = calling_frame();
  const std::uintptr_t sp = here.registers.sp, high = platform::own_stack().high;
  const std::size_t count = (high - sp) / 8;
  copy.words.resize(StackCopy::red_zone + count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uintptr_t word = reinterpret_cast<const std::uintptr_t*>(sp)[i];
    copy.words[StackCopy::red_zone + i] = word - sp < high - sp ? word - sp + copy.low() : word;
  }
  copy.start = here;
  copy.start.registers.sp = copy.low();
  copy.start.registers.fp = here.registers.fp - sp + copy.low();
}

[[gnu::noinline]] void copy_stack_below(unsigned depth, StackCopy& copy) {
  if (depth == 0) copy_stack(copy);
  else if (depth % 3 == 0)
    call_from_realigned_frame([](unsigned d, void* c) { copy_stack_below(d, *static_cast<StackCopy*>(c)); }, depth - 1,
                              &copy);
  else copy_stack_below(depth - 1, copy);
  asm volatile("");
}

TEST_F(Faults, corrupt_stacks_end_the_walk_and_nothing_else) {
  StackCopy copy;
  copy_stack_below(30, copy);
  const std::vector<std::uintptr_t> intact = copy.words;
  std::mt19937_64 random(1);
  unsigned ends[4] = {}, differing = 0, seeds = 200'000;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    // Every other time as a main thread's stack, of which the low end is not known.
    walker.reset({seed % 2 ? 1 : copy.low(), copy.high()});
    if (seed % 8 != 0) {
      for (unsigned n = 1 + random() % 24; n-- > 0;) {
        std::uintptr_t& word =
            copy.words[StackCopy::red_zone +
                       random() % std::min<std::size_t>(copy.words.size() - StackCopy::red_zone, 400)];
        switch (random() % 6) {
          case 0: word = random(); break;
          case 1: word = copy.low() - 4096 + random() % (copy.words.size() * 8 + 8192); break;
          case 2: word = reinterpret_cast<std::uintptr_t>(&backtrace) + random() % 0x100000; break;
          case 3: word ^= std::uintptr_t{1} << random() % 64; break;
          case 4: word = intact[random() % intact.size()]; break;
          case 5: word = 0; break;
        }
      }
    }
    const Walk fast = walker.walk(copy.start);
    const auto path = addresses(fast);
    const Walk again = walker.walk(copy.start);
    const Walk full = walker.walk_fully(copy.start);
    ++ends[static_cast<unsigned>(full.end)];
    differing += path != addresses(full) || path != addresses(again) || fast.end != full.end;
    if (seed % 8 == 0) {
      EXPECT_EQ(full.end, WalkEnd::Complete);
    }
    copy.words = intact;
  }
  std::printf("complete %u, no tables %u, bad stack %u, too deep %u\n", ends[0], ends[1], ends[2], ends[3]);
  EXPECT_EQ(differing, 0u);
  EXPECT_GT(ends[static_cast<unsigned>(WalkEnd::BadStack)], seeds / 100);
  EXPECT_GT(ends[static_cast<unsigned>(WalkEnd::NoTables)], seeds / 100);
}

}  // namespace
}  // namespace refrain::unwind
