// Control flow that is not a call and a return, under sampling: longjmp over many frames, fibers with stacks of their
// own (swapcontext), C++20 coroutines, exceptions. The output is a checksum of the work done.
#include <coroutine>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <ucontext.h>
#include <vector>

#define PATH __attribute__((noinline, noclone))

namespace {

volatile std::uint64_t sink;
PATH std::uint64_t work(std::uint64_t seed) {
  for (int i = 0; i < 300; ++i) seed = seed * 6364136223846793005u + 1442695040888963407u;
  sink = seed;
  return seed >> 32;
}

std::jmp_buf target;
PATH void dive_and_jump(int depth, std::uint64_t seed) {
  if (depth < 0) return;
  sink = work(seed);
  if (depth == 0) std::longjmp(target, 1);
  dive_and_jump(depth - 1, seed + 1);
  sink = work(seed);  // no tail call
}
PATH void jump_once(int i) {
  if (setjmp(target) == 0) dive_and_jump(10 + i % 90, static_cast<std::uint64_t>(i));
}
PATH std::uint64_t jumps(int times) {
  std::uint64_t sum = 0;
  for (int i = 0; i < times; ++i) {
    jump_once(i);
    sum += work(static_cast<std::uint64_t>(i));
  }
  return sum;
}

PATH std::uint64_t dive_and_throw(int depth, std::uint64_t seed) {
  if (depth == 0) throw static_cast<int>(work(seed) % 1000);
  return work(seed) + dive_and_throw(depth - 1, seed + 1);
}
PATH std::uint64_t throws(int times) {
  std::uint64_t sum = 0;
  for (int i = 0; i < times; ++i) {
    try {
      sum += dive_and_throw(5 + i % 20, static_cast<std::uint64_t>(i));
    } catch (int value) {
      sum += static_cast<std::uint64_t>(value);
    }
  }
  return sum;
}

ucontext_t main_context;
struct Fiber {
  ucontext_t context;
  std::vector<char> stack = std::vector<char>(64 * 1024);
  std::uint64_t sum = 0;
};
Fiber* running;
PATH std::uint64_t fiber_depths(int depth) { return depth ? work(depth) + fiber_depths(depth - 1) : 0; }
void fiber_main() {
  for (int i = 0;; ++i) {
    running->sum += fiber_depths(i % 30);
    swapcontext(&running->context, &main_context);
  }
}
PATH std::uint64_t fibers(int times) {
  std::vector<Fiber> all(8);
  for (Fiber& f : all) {
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.data();
    f.context.uc_stack.ss_size = f.stack.size();
    f.context.uc_link = nullptr;
    makecontext(&f.context, fiber_main, 0);
  }
  for (int i = 0; i < times; ++i) {
    running = &all[static_cast<std::size_t>(i) % all.size()];
    swapcontext(&main_context, &running->context);
  }
  std::uint64_t sum = 0;
  for (Fiber& f : all) sum += f.sum;
  return sum;
}

struct Generator {
  struct promise_type {
    std::uint64_t value = 0;
    Generator get_return_object() { return Generator{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(std::uint64_t v) {
      value = v;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  explicit Generator(std::coroutine_handle<promise_type> h) : handle(h) {}
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;
  ~Generator() { handle.destroy(); }
  std::coroutine_handle<promise_type> handle;
};
Generator numbers(std::uint64_t seed) {
  for (;;) co_yield work(seed++);
}
PATH std::uint64_t coroutines(int times) {
  Generator a = numbers(1), b = numbers(1000);
  std::uint64_t sum = 0;
  for (int i = 0; i < times; ++i) {
    Generator& g = i % 3 ? a : b;
    g.handle.resume();
    sum += g.handle.promise().value;
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int scale = argc > 1 ? std::atoi(argv[1]) : 1;
  std::printf("jumps %016llx\n", static_cast<unsigned long long>(jumps(40000 * scale)));
  std::printf("throws %016llx\n", static_cast<unsigned long long>(throws(30000 * scale)));
  std::printf("fibers %016llx\n", static_cast<unsigned long long>(fibers(150000 * scale)));
  std::printf("coroutines %016llx\n", static_cast<unsigned long long>(coroutines(2000000 * scale)));
}
