#pragma once
/// A walker that no location owns, for tests and benchmarks: with memory of its own.

#include "unwind/walker.hpp"

namespace refrain::unwind::test {

class MappedWalker : public Walker {
 public:
  /// False: no memory, or as Walker::create().
  [[nodiscard]] bool create(const StackBounds& stack, std::uint32_t max_depth, Backend backend) {
    memory_ = map_walker_memory(max_depth, 0);
    return memory_.base && Walker::create(stack, memory_, backend);
  }
  void destroy() {
    unmap_walker_memory(memory_);
    memory_ = {};
  }

 private:
  WalkerMemory memory_;
};

}  // namespace refrain::unwind::test
