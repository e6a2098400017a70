#pragma once
/// Small functions that call each other and finally a benchmark; built with and without frame pointers.

namespace unwind_bench {

using Work = void (*)(void* argument);

/// Runs `work` below about `depth` frames.
namespace without_fp {
void run_below(unsigned depth, Work work, void* argument);
}
namespace with_fp {
void run_below(unsigned depth, Work work, void* argument);
}

}  // namespace unwind_bench
