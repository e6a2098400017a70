#pragma once
/// A pile of small functions, built with and without frame pointers, below which a benchmark runs.

namespace unwind_bench {

using Work = void (*)(void* argument);

/// Runs `work` below `depth` frames.
namespace without_fp {
void run_below(unsigned depth, Work work, void* argument);
}
namespace with_fp {
void run_below(unsigned depth, Work work, void* argument);
}

}  // namespace unwind_bench
