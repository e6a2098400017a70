#include "workload.hpp"

#include <algorithm>
#include <alloca.h>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <setjmp.h>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>

namespace unwind_workload::UNWIND_VARIANT {
namespace {

#define SEPARATE [[gnu::noinline]]

struct Random {
  std::uint64_t state;
  unsigned below(unsigned n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>(state >> 33) % n;
  }
};

thread_local Random* random_numbers;
thread_local CapturePoint capture;
thread_local volatile unsigned sink;

unsigned below(unsigned n) { return random_numbers->below(n); }

// ---- Plain calls: leaves, recursion, two call sites in one function, saved registers in use ----

SEPARATE unsigned leaf(unsigned a, unsigned b) { return a * 31 + (b ^ 7); }

SEPARATE unsigned many_registers(unsigned a, unsigned b, unsigned c) {
  unsigned v[6] = {a, b, c, a + b, b + c, a ^ c};
  for (int i = 0; i < 2; ++i) {
    v[0] += leaf(v[1], v[2]);
    v[3] ^= leaf(v[4], v[5]) + v[0];
    capture();
    v[1] += leaf(v[0], v[3]) + v[2] + v[4];
    v[5] -= v[1];
  }
  return v[0] ^ v[1] ^ v[2] ^ v[3] ^ v[4] ^ v[5];
}

SEPARATE unsigned recurse(unsigned depth) {
  if (depth == 0) {
    capture();
    return many_registers(1, 2, 3);
  }
  unsigned result = depth & 1 ? recurse(depth - 1) : leaf(recurse(depth - 1), depth);
  if (depth % 16 == 0) capture();
  return result + depth;
}

// ---- Stack space of changing size: the same return addresses at other places, other words at the same ----

SEPARATE unsigned with_alloca(unsigned depth) {
  const unsigned size = 16 + below(8) * 16;
  auto* space = static_cast<volatile unsigned char*>(alloca(size));
  space[0] = static_cast<unsigned char>(size);
  space[size - 1] = 1;
  if (depth == 0) {
    capture();
    return leaf(space[0], space[size - 1]);
  }
  const unsigned result = with_alloca(depth - 1);
  capture();
  return result + space[0];
}

SEPARATE unsigned with_aligned_locals(unsigned depth) {
  alignas(64) volatile unsigned char block[128];
  auto* space = static_cast<volatile unsigned char*>(alloca(16 + below(4) * 16));
  block[3] = static_cast<unsigned char>(depth);
  space[0] = 2;
  capture();
  return (depth ? with_aligned_locals(depth - 1) : many_registers(4, 5, 6)) + block[3] + space[0];
}

/// The caller's stack pointer moves, the called frame, being aligned, stays where it is; the old return address too.
SEPARATE unsigned aligned_leaf(unsigned a) {
  alignas(256) volatile unsigned char block[256];
  auto* space = static_cast<volatile unsigned char*>(alloca(32));
  block[0] = static_cast<unsigned char>(a);
  space[0] = 1;
  capture();
  return block[0] + space[0];
}

SEPARATE unsigned with_shifting_caller() {
  unsigned result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    auto* space = static_cast<volatile unsigned char*>(alloca(16));
    result += aligned_leaf(i);
    space[0] = static_cast<unsigned char>(result);
  }
  return result;
}

SEPARATE unsigned with_many_arguments(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
                                      unsigned g, unsigned h, unsigned i) {
  capture();
  return leaf(a + b + c, d + e + f) + leaf(g, h) + i;
}

// ---- Through libraries ----

int compare(const void* a, const void* b) {
  capture();
  const unsigned x = *static_cast<const unsigned*>(a), y = *static_cast<const unsigned*>(b);
  return x < y ? -1 : x > y;
}

SEPARATE unsigned library_calls() {
  unsigned numbers[6];
  for (unsigned& n : numbers) n = below(100);
  std::qsort(numbers, 6, sizeof numbers[0], compare);
  char text[64];
  std::snprintf(text, sizeof text, "%u %s %.2f", numbers[0], "text", numbers[1] / 3.0);
  std::string copy(text);
  std::map<std::string, unsigned> map{{copy, 1}, {copy + "x", 2}};
  std::function<unsigned(unsigned)> f = [&](unsigned v) {
    capture();
    return v + map[copy];
  };
  auto pointer = std::make_unique<unsigned>(f(3));
  return *pointer + static_cast<unsigned>(std::strlen(text));
}

struct Shape {
  virtual ~Shape() = default;
  virtual unsigned area(unsigned depth) const = 0;
};
struct Square : Shape {
  unsigned area(unsigned depth) const override {
    capture();
    return depth ? area(depth - 1) + 4 : leaf(1, 2);
  }
};

// ---- Leaving frames otherwise than by returning ----

struct Guard {
  ~Guard() { capture(); }
};

SEPARATE void throw_deep(unsigned depth) {
  Guard guard;
  if (depth == 0) throw std::runtime_error("planted");
  throw_deep(depth - 1);
  sink = depth;
}

SEPARATE unsigned catch_it(unsigned depth) {
  try {
    throw_deep(depth);
  } catch (const std::exception& e) {
    capture();
    return static_cast<unsigned>(std::strlen(e.what()));
  }
  return 0;
}

SEPARATE void jump_deep(jmp_buf& target, unsigned depth) {
  capture();
  if (depth == 0) longjmp(target, 1);
  jump_deep(target, depth - 1);
  sink = depth;
}

SEPARATE unsigned jump_out(unsigned depth) {
  jmp_buf target;
  if (setjmp(target) == 0) jump_deep(target, depth);
  capture();
  return many_registers(depth, 1, 1);
}

// ---- Other stacks ----

struct Fiber {
  ucontext_t own, caller;
  void* stack;
  static constexpr std::size_t size = 256 * 1024;
};
thread_local Fiber* current_fiber;

SEPARATE unsigned in_fiber(unsigned depth) {
  capture();
  if (depth == 0) {
    swapcontext(&current_fiber->own, &current_fiber->caller);
    capture();
    return 1;
  }
  return in_fiber(depth - 1) + 1;
}

void fiber_main() {
  sink = in_fiber(3);
  sink = with_alloca(2);
}

SEPARATE unsigned fibers() {
  Fiber fiber;
  fiber.stack = mmap(nullptr, Fiber::size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  getcontext(&fiber.own);
  fiber.own.uc_stack.ss_sp = fiber.stack;
  fiber.own.uc_stack.ss_size = Fiber::size;
  fiber.own.uc_link = &fiber.caller;
  makecontext(&fiber.own, fiber_main, 0);
  current_fiber = &fiber;
  swapcontext(&fiber.caller, &fiber.own);
  capture();
  const unsigned between = recurse(3);
  swapcontext(&fiber.caller, &fiber.own);
  munmap(fiber.stack, Fiber::size);
  return between;
}

struct Generator {
  struct promise_type {
    unsigned value = 0;
    Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(unsigned v) {
      value = v;
      return {};
    }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};

Generator count_up(unsigned n) {
  for (unsigned i = 0; i < n; ++i) {
    capture();
    co_yield leaf(i, n);
  }
}

SEPARATE unsigned coroutines() {
  Generator a = count_up(3), b = count_up(4);
  unsigned sum = 0;
  for (int i = 0; i < 3; ++i) {
    a.handle.resume();
    b.handle.resume();
    sum += a.handle.promise().value + b.handle.promise().value;
  }
  a.handle.destroy();
  b.handle.destroy();
  return sum;
}

// ---- Signals on signals ----

void inner_handler(int) {
  if (!capture) return;  // another thread's run has put this variant's handler in place
  step_in_handler();
  sink = many_registers(7, 8, 9);
}

void outer_handler(int) {
  if (!capture) return;
  step_in_handler();
  capture();
  raise(SIGUSR2);
  sink = with_alloca(1);
}

SEPARATE unsigned signals(bool alternate_stack) {
  struct sigaction outer = {}, inner = {}, old_outer, old_inner;
  outer.sa_handler = outer_handler;
  inner.sa_handler = inner_handler;
  stack_t alternate = {}, old_stack = {};
  if (alternate_stack) {
    outer.sa_flags = inner.sa_flags = SA_ONSTACK;
    alternate.ss_size = 256 * 1024;
    alternate.ss_sp = mmap(nullptr, alternate.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&alternate, &old_stack);
  }
  sigaction(SIGUSR1, &outer, &old_outer);
  sigaction(SIGUSR2, &inner, &old_inner);
  raise(SIGUSR1);
  capture();
  if (alternate_stack) {
    sigaltstack(&old_stack, nullptr);
    munmap(alternate.ss_sp, alternate.ss_size);
  }
  return leaf(1, 1);
}

SEPARATE void everything() {
  switch (below(13)) {
    case 0: sink = recurse(2 + below(60)); break;
    case 1: sink = with_alloca(below(12)); break;
    case 2: sink = with_aligned_locals(below(4)); break;
    case 3: sink = with_many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9); break;
    case 4: sink = library_calls(); break;
    case 5: sink = Square().area(below(6)); break;
    case 6: sink = catch_it(below(4)); break;
    case 7: sink = jump_out(below(5)); break;
    case 8: sink = fibers(); break;
    case 9: sink = coroutines(); break;
    case 10: sink = signals(false); break;
    case 11: sink = signals(true); break;
    case 12: sink = with_shifting_caller(); break;
  }
}

/// Under a varying pile of frames of which some keep a frame pointer and some do not.
SEPARATE void pile(unsigned depth) {
  if (depth == 0) {
    for (int i = 0; i < 4; ++i) everything();
  } else if (depth & 1) {
    auto* space = static_cast<volatile unsigned char*>(alloca(8 + below(3) * 16));
    space[0] = 1;
    pile(depth - 1);
    sink = space[0];
  } else {
    pile(depth - 1);
    sink = depth;
  }
}

}  // namespace

void run(unsigned seed, CapturePoint capture_point) {
  Random numbers{seed};
  random_numbers = &numbers;
  capture = capture_point;
  pile(below(16));
  capture = nullptr;
}

}  // namespace unwind_workload::UNWIND_VARIANT
