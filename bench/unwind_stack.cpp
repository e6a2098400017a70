#include "unwind_stack.hpp"

namespace unwind_bench::UNWIND_STACK {
namespace {

volatile unsigned sink;

[[gnu::noinline]] void other(unsigned depth, unsigned a, Work work, void* argument);

[[gnu::noinline]] void one(unsigned depth, unsigned a, unsigned b, Work work, void* argument) {
  if (depth == 0) work(argument);
  else other(depth - 1, a + b, work, argument);
  sink = a ^ b;
}

[[gnu::noinline]] void other(unsigned depth, unsigned a, Work work, void* argument) {
  if (depth == 0) work(argument);
  else one(depth - 1, a, a * 3, work, argument);
  sink = a;
}

}  // namespace

void run_below(unsigned depth, Work work, void* argument) {
  one(depth, 1, 2, work, argument);
  sink = depth;
}

}  // namespace unwind_bench::UNWIND_STACK
